//! What a kit or a scheme declares of its roles: their names, and their constructors.

use netkv_workload::Workload;

use crate::options::{ClientOptions, CoordinatorOptions, Keyspace, ServerOptions};
use crate::records::Keying;
use crate::{Applied, Coordinator, Frames, LoadClient, Nanos, Server, UserClient};

/// The roles of a kit or a scheme.
#[derive(Clone, Copy)]
pub(crate) struct Roles {
    pub(crate) servers: &'static [ServerEntry],
    pub(crate) clients: &'static [ClientEntry],
    pub(crate) coordinators: &'static [CoordinatorEntry],
}

impl Roles {
    pub(crate) const NONE: Self = Self { servers: &[], clients: &[], coordinators: &[] };
}

/// A new role, or a sentence about an invalid option.
pub type Made<R> = Result<Box<R>, String>;

/// Makes a server that starts now over a store that has applied these writes.
pub type Restore = dyn Fn(&ServerOptions, Nanos, &Applied) -> Made<dyn Server> + Sync;
/// Makes clients with a load, which start no operation yet.
pub type NewLoadClient = dyn Fn(&ClientOptions, Workload) -> Made<dyn LoadClient> + Sync;
/// Makes clients of users.
pub type NewUserClient = dyn Fn(&ClientOptions) -> Made<dyn UserClient> + Sync;

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
    /// Clients with a load, which start no operation yet.
    pub load: &'static NewLoadClient,
    /// Clients of users.
    pub users: &'static NewUserClient,
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
