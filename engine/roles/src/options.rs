//! Options that the roles of all protocols have.

use netkv_wire::multiget::{MTU, PAPER_SPLIT_KEYS};
use netkv_workload::Placement;
use serde::Deserialize;

use crate::{Backoff, ClientConfig, Nanos};

/// The keyspace, which is the same for all roles of a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyspace {
    /// Number of servers that share the keys.
    pub servers: u16,
    /// Number of racks with servers, which are spread evenly, in their order.
    pub racks: u16,
    /// Bytes of a key of the keyspace.
    pub key_size: usize,
    /// Keys of a multiget that a switch can split, if the roles send it such requests.
    #[serde(default = "Keyspace::usual_split_keys")]
    pub split_keys: u8,
    /// Largest IPv4 packet of multigets, in bytes.
    #[serde(default = "Keyspace::usual_mtu")]
    pub mtu: u16,
    /// Which records are popular, and which server owns each.
    #[serde(default)]
    pub placement: Placement,
}

impl Keyspace {
    /// `servers` servers in one rack that share keys of 16 bytes, placed by the seed.
    pub const fn of_a_rack(servers: u16) -> Self {
        Self {
            servers,
            racks: 1,
            key_size: 16,
            split_keys: Self::usual_split_keys(),
            mtu: Self::usual_mtu(),
            placement: Placement::Seed,
        }
    }

    const fn usual_split_keys() -> u8 {
        PAPER_SPLIT_KEYS
    }

    const fn usual_mtu() -> u16 {
        MTU as u16
    }
}

/// Options of a server that all protocols have.
#[derive(Debug, Clone, Copy)]
pub struct ServerOptions {
    /// Which server it is, from 0.
    pub server: u16,
    /// The keys and how many servers share them.
    pub keyspace: Keyspace,
    /// First number of the server's own requests; see [`crate::first_request`].
    pub first_request: u32,
    /// Reading, at the driver's time 0, of a clock that runs on while the server is down.
    pub epoch: Nanos,
    /// Requests of clients served in a second, if limited.
    pub service_rate: Option<f64>,
    /// Most requests that wait for service.
    pub service_queue: usize,
}

/// Options of the clients of a process that all protocols have.
#[derive(Debug, Clone, Copy)]
pub struct ClientOptions {
    /// Their load. The protocol sets the window.
    pub load: ClientConfig,
    /// The keys and how many servers share them.
    pub keyspace: Keyspace,
}

/// Options of a worker of a coordinator that all protocols have.
#[derive(Debug, Clone, Copy)]
pub struct CoordinatorOptions {
    /// The keys and how many servers share them.
    pub keyspace: Keyspace,
    /// Which worker this is, from 0.
    pub worker: u32,
    /// Number of workers (at least 1).
    pub workers: u32,
    /// First number of its own requests; see [`crate::first_request`].
    pub first_request: u32,
    /// Retries towards servers.
    pub retry: Backoff,
    /// Time after which a request of a client ends with the answers so far.
    pub deadline: Nanos,
    /// Most requests of clients under way.
    pub max_requests: usize,
}
