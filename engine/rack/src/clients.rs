//! The client role of a load generator, whichever requests it sends.

use netkv_roles::{
    Actions, Client, ClientStats, Nanos, Preserved, Summary, VerifyReport, Violation, multiget,
};
use netkv_workload::{Arrivals, Workload};

/// Clients that ask for single keys, or for several at once.
// There is one of it: what a box would save is not worth its detour.
#[allow(clippy::large_enum_variant)]
pub enum Clients {
    /// Requests of one key.
    Single(Client),
    /// Requests of several.
    Multiget(multiget::Client),
}

/// What they are.
#[derive(Debug, Clone, Copy)]
pub enum ClientsConfig {
    /// Requests of one key.
    Single(netkv_roles::ClientConfig),
    /// Requests of several.
    Multiget(multiget::ClientConfig),
}

/// Methods that both have, with the same meaning.
macro_rules! both {
    ($($(#[$about:meta])* fn $name:ident(&mut self $(, $argument:ident: $of:ty)*) $(-> $result:ty)?;)*) => {
        $($(#[$about])*
        pub fn $name(&mut self $(, $argument: $of)*) $(-> $result)? {
            match self {
                Self::Single(client) => client.$name($($argument),*),
                Self::Multiget(client) => client.$name($($argument),*),
            }
        })*
    };
    ($($(#[$about:meta])* fn $name:ident(&self) -> $result:ty;)*) => {
        $($(#[$about])*
        pub fn $name(&self) -> $result {
            match self {
                Self::Single(client) => client.$name(),
                Self::Multiget(client) => client.$name(),
            }
        })*
    };
}

impl Clients {
    /// Clients that start no operation until they are told to.
    ///
    /// # Errors
    ///
    /// A sentence about a setting that cannot be.
    pub fn new(config: ClientsConfig, workload: Workload) -> Result<Self, String> {
        match config {
            ClientsConfig::Single(config) => Client::new(config, workload).map(Self::Single),
            ClientsConfig::Multiget(config) => {
                multiget::Client::new(config, workload).map(Self::Multiget)
            }
        }
    }

    both! {
        /// Starts or goes on with the load.
        fn start(&mut self, now: Nanos, out: &mut Actions);
        /// Starts no more operations; those under way end.
        fn pause(&mut self);
        /// Changes when operations start.
        fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions);
        /// Does what is due.
        fn poll(&mut self, now: Nanos, out: &mut Actions);
        /// Takes one frame.
        fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions);
        /// The workload, to shift popularity.
        fn workload_mut(&mut self) -> &mut Workload;
        /// Moves what was counted since the last call into `into`.
        fn take_stats(&mut self, into: &mut ClientStats);
        /// The process dies, and another one begins in its place at once.
        fn forget_preserved(&mut self, now: Nanos, out: &mut Actions);
        /// Takes leave.
        fn leave(&mut self, now: Nanos, out: &mut Actions);
        /// Reads back every key that was written.
        fn verify(&mut self, now: Nanos, out: &mut Actions);
    }

    both! {
        /// When to call [`Clients::poll`], if nothing happens before.
        fn deadline(&self) -> Option<Nanos>;
        /// Operations under way.
        fn outstanding(&self) -> usize;
        /// The workload.
        fn workload(&self) -> &Workload;
        /// What was counted since [`Clients::take_stats`].
        fn stats(&self) -> &ClientStats;
        /// Records that only the switch has.
        fn preserved(&self) -> Preserved;
        /// Whether nothing is left to be said after [`Clients::leave`].
        fn is_gone(&self) -> bool;
        /// What the checker thinks of everything so far; `None` if reads are not judged.
        fn history(&self) -> Option<Summary>;
        /// The first violations of linearizability.
        fn violations(&self) -> Vec<Violation>;
        /// What the verification found, once it is over.
        fn verified(&self) -> Option<VerifyReport>;
    }
}
