//! The table of protocols: the names of their roles, and their constructors.
//!
//! It is the only shared place that lists protocols. A role is named in the configuration of a node
//! (`server_role` and `client_role` of a scheme in Python); a driver deserializes the name to a
//! [`ServerRole`], [`ClientRole`] or [`CoordinatorRole`] and knows nothing else of the protocol.
//! Roles that are not part of this crate are found by a [`Loader`].

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use netkv_workload::Workload;
use serde::{Deserialize, Deserializer};

use crate::records::Keying;
use crate::{Applied, Backoff, Client, ClientConfig, Coordinator, Frames, Nanos, Server};
use crate::{distcache, distreach, farreach, memcached, multiget, netcache, plain};

/// The roles of servers.
pub static SERVERS: &[ServerEntry] = &[
    plain::SERVER,
    memcached::SERVER,
    netcache::SERVER,
    distcache::SERVER,
    farreach::server::SERVER,
    multiget::SERVER,
];

/// The roles of clients.
pub static CLIENTS: &[ClientEntry] = &[
    plain::CLIENT,
    memcached::CLIENT,
    farreach::client::CLIENT,
    distreach::CLIENT,
    multiget::netmc::CLIENT,
    multiget::climc::CLIENT,
    multiget::coordimc::CLIENT,
];

/// The roles of coordinators.
pub static COORDINATORS: &[CoordinatorEntry] = &[multiget::coordimc::COORDINATOR];

/// The keyspace, which is the same for all roles of a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyspace {
    /// Number of servers that share the keys.
    pub servers: u16,
    /// Number of racks with servers, which are spread evenly, in their order.
    pub racks: u16,
    /// Bytes of a key of the keyspace.
    pub key_size: usize,
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

/// A new role, or a sentence about an invalid option.
pub type Made<R> = Result<Box<R>, String>;

/// Makes a server that starts now over a store that has applied these writes.
pub type Restore = dyn Fn(&ServerOptions, Nanos, &Applied) -> Made<dyn Server> + Sync;
/// Makes clients that start no operation yet.
pub type NewClient = dyn Fn(&ClientOptions, Workload) -> Made<dyn Client> + Sync;

/// A role of servers.
pub struct ServerEntry {
    /// Its name in configurations.
    pub name: &'static str,
    /// How its records are named and divided, for keys of the given number of bytes.
    pub keying: fn(usize) -> Keying,
    /// Whether its store keeps the sequence of the last write with each record, and tombstones.
    pub keeps_sequences: bool,
    /// The frames of its protocol.
    pub frames: fn(Keyspace) -> Box<dyn Frames>,
    /// A server that starts now over a store that has applied these writes.
    pub restore: &'static Restore,
}

/// A role of clients.
pub struct ClientEntry {
    /// Its name in configurations.
    pub name: &'static str,
    /// Clients that start no operation yet.
    pub new: &'static NewClient,
}

/// A role of coordinators.
pub struct CoordinatorEntry {
    /// Its name in configurations.
    pub name: &'static str,
    /// Which of the given number of workers handles a frame.
    pub worker_of: fn(&[u8], u32) -> u32,
    /// A worker with nothing under way.
    pub new: fn(&CoordinatorOptions) -> Made<dyn Coordinator>,
}

/// Finds roles by names that the tables do not have. The result is `None` for a name that is not
/// the loader's, and a sentence with the reason for a role that cannot be loaded.
pub trait Loader: Send + Sync {
    /// The role of servers with this name.
    fn server(&self, _name: &str) -> Option<Result<&'static ServerEntry, String>> {
        None
    }

    /// The role of clients with this name.
    fn client(&self, _name: &str) -> Option<Result<&'static ClientEntry, String>> {
        None
    }

    /// The role of coordinators with this name.
    fn coordinator(&self, _name: &str) -> Option<Result<&'static CoordinatorEntry, String>> {
        None
    }
}

static LOADER: OnceLock<Box<dyn Loader>> = OnceLock::new();

/// Sets the loader of this process. Later calls have no effect.
pub fn set_loader(loader: Box<dyn Loader>) {
    let _ = LOADER.set(loader);
}

/// Declares the type of a role that a configuration names.
macro_rules! roles {
    ($(
        $(#[$about:meta])*
        $role:ident of $entry:ident in $table:ident, or $load:ident, $kind:literal;
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub struct $role(&'static $entry);

        impl $role {
            /// The role with this name.
            ///
            /// # Errors
            ///
            /// A sentence with the available names.
            pub fn named(name: &str) -> Result<Self, String> {
                if let Some(loaded) = LOADER.get().and_then(|loader| loader.$load(name)) {
                    return loaded.map(Self);
                }
                $table.iter().find(|entry| entry.name == name).map(Self).ok_or_else(|| {
                    let names: Vec<&str> = $table.iter().map(|entry| entry.name).collect();
                    let names = names.join(", ");
                    format!("'{name}' is not a role of {}; it is one of: {names}", $kind)
                })
            }
        }

        impl Default for $role {
            fn default() -> Self {
                Self(&$table[0])
            }
        }

        impl Deref for $role {
            type Target = $entry;

            fn deref(&self) -> &$entry {
                self.0
            }
        }

        impl fmt::Debug for $role {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0.name)
            }
        }

        impl<'de> Deserialize<'de> for $role {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::named(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    )*};
}

roles! {
    /// A role of servers, by its name.
    ServerRole of ServerEntry in SERVERS, or server, "servers";
    /// A role of clients, by its name; the default only sends requests and receives answers.
    ClientRole of ClientEntry in CLIENTS, or client, "clients";
    /// A role of coordinators, by its name.
    CoordinatorRole of CoordinatorEntry in COORDINATORS, or coordinator, "coordinators";
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Absent;

    impl Loader for Absent {
        fn server(&self, name: &str) -> Option<Result<&'static ServerEntry, String>> {
            (name == "elsewhere:absent").then(|| Err("it is not there".to_owned()))
        }
    }

    #[test]
    fn the_loader_resolves_its_names_and_the_tables_others() {
        set_loader(Box::new(Absent));
        assert_eq!(ServerRole::named("elsewhere:absent").unwrap_err(), "it is not there");
        assert_eq!(ServerRole::named("netcache").unwrap().name, "netcache");
        let unknown = ClientRole::named("elsewhere:absent").unwrap_err();
        assert!(unknown.starts_with("'elsewhere:absent' is not a role of clients"), "{unknown}");
    }
}
