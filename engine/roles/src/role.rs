//! The roles of a rack as drivers see them: storage servers, clients and coordinators.
//!
//! A driver knows these traits and [`crate::registry`], but no protocol. It hands frames, timers and
//! results of storage calls to a role and carries out the [`Actions`] that come of them.

use netkv_checker::{Summary, Violation};
use netkv_wire::Key;
use netkv_workload::{Arrivals, Workload};

#[cfg(feature = "mutations")]
use crate::Mutation;
use crate::{
    Actions, CallId, ClientStats, Completion, Counts, Nanos, StoreResult, UserOp, VerifyReport,
};

/// A storage server: it serves the requests of clients from its store.
pub trait Server: Send + Sync {
    /// Which server it is, from 0.
    fn index(&self) -> u16;

    /// Takes one frame; pushes what must happen next onto `out`. Frames that are not for this
    /// server are counted and have no effect.
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions);

    /// The store has finished `call`. An id that is not under way has no effect.
    fn on_stored(&mut self, now: Nanos, call: CallId, result: StoreResult<'_>, out: &mut Actions);

    /// Does what is due at `now`. Calling it early does nothing.
    fn on_timer(&mut self, now: Nanos, out: &mut Actions);

    /// When to call [`Server::on_timer`], if nothing happens before.
    fn deadline(&self) -> Option<Nanos>;

    /// Serves `factor` times slower than its service rate, from the next request on; 1 is the rate
    /// itself. False if the server has no rate, so that there is nothing to slow down.
    fn slow(&mut self, factor: f64) -> bool;

    /// Number of keys for which something is under way, waits or is held.
    fn busy_keys(&self) -> usize;

    /// Counts since the start, and gauges of the protocol.
    fn counts(&self) -> Counts;

    /// Takes a protection out, if the role has it. For tests.
    #[cfg(feature = "mutations")]
    fn mutate(&mut self, _mutation: Mutation) {}
}

/// The clients of a process: a load generator, and the operations that users submit.
pub trait Client: Send + Sync {
    /// Takes one frame; pushes what must happen next onto `out`.
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions);

    /// Does what is due at `now`: arrivals, retries, deadlines. Calling it early does nothing.
    fn poll(&mut self, now: Nanos, out: &mut Actions);

    /// When to call [`Client::poll`], if nothing happens before.
    fn deadline(&self) -> Option<Nanos>;

    /// Starts or continues the load.
    fn start(&mut self, now: Nanos, out: &mut Actions);

    /// Starts no more operations of the load; those under way end. See [`Client::outstanding`].
    fn pause(&mut self);

    /// Changes when operations start: another rate, or another number outstanding.
    fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions);

    /// Operations under way.
    fn outstanding(&self) -> usize;

    /// The workload: its most popular keys and what it asks for.
    fn workload(&self) -> &Workload;

    /// The workload, to shift popularity.
    fn workload_mut(&mut self) -> &mut Workload;

    /// What was counted since the last [`Client::take_stats`].
    fn stats(&self) -> &ClientStats;

    /// Moves what was counted since the last call into `into` (whose content is lost), and appends
    /// the gauges of the protocol.
    fn take_stats(&mut self, into: &mut ClientStats);

    /// Appends the gauges of the protocol: what the process holds now.
    fn add_gauges(&self, _into: &mut Counts) {}

    /// The process crashes and another one starts in its place at once: what was under way and
    /// what was held in memory is lost. The load goes on, and the history is still judged.
    fn crash(&mut self, now: Nanos, out: &mut Actions);

    /// Ends the load and deregisters, if the protocol has a registration. See [`Client::has_left`].
    fn leave(&mut self, now: Nanos, out: &mut Actions);

    /// Whether nothing is left to be sent after [`Client::leave`].
    fn has_left(&self) -> bool {
        true
    }

    /// Starts no more operations and reads back every key that was written, once those under way
    /// have ended. See [`Client::verified`].
    fn verify(&mut self, now: Nanos, out: &mut Actions);

    /// What the verification found, once it is over.
    fn verified(&self) -> Option<VerifyReport>;

    /// The checker's verdict over everything so far; `None` if reads are not judged.
    fn history(&self) -> Option<Summary>;

    /// The first violations of linearizability, with the operations that prove them. Times are
    /// those of the driver.
    fn violations(&self) -> Vec<Violation>;

    /// Takes an operation of a user; [`Client::completions`] has its end, under `token`.
    ///
    /// # Errors
    ///
    /// A sentence about a key or value that this client cannot take, or if too many wait.
    fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String>;

    /// Moves the users' operations that have ended to the end of `into`.
    fn completions(&mut self, into: &mut Vec<Completion>);

    /// Takes a protection out. For tests.
    #[cfg(feature = "mutations")]
    fn mutate(&mut self, mutation: Mutation);
}

/// A worker of a coordinator, which asks several servers on behalf of a client.
pub trait Coordinator: Send + Sync {
    /// Takes one frame; pushes what must happen next onto `out`.
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions);

    /// Does what is due at `now`. Calling it early does nothing.
    fn on_timer(&mut self, now: Nanos, out: &mut Actions);

    /// When to call [`Coordinator::on_timer`], if nothing happens before.
    fn deadline(&self) -> Option<Nanos>;

    /// Counts since the start, and requests under way.
    fn counts(&self) -> Counts;

    /// Takes a protection out. For tests.
    #[cfg(feature = "mutations")]
    fn mutate(&mut self, mutation: Mutation);
}

/// What a request of a client asks of a server's store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Reads of so many keys; of the only one, if the protocol has single keys.
    Get(u8, Option<Key>),
    /// A write, likewise.
    Put(Option<Key>),
    /// A delete, likewise.
    Delete(Option<Key>),
}

/// What a driver wants to know of the frames of a protocol: what they cost, and what they say.
pub trait Frames: Send + Sync {
    /// What a server has to do for a frame; none if it is no request of a client.
    fn work(&self, frame: &[u8]) -> Option<Work>;

    /// Number of keys in a frame that cost a processor time for each key.
    fn keys(&self, frame: &[u8]) -> u8;

    /// Whether a frame asks for one of these keys, or answers one. With no keys, whether it is a
    /// frame of the protocol.
    fn is_about(&self, frame: &[u8], keys: &[Key]) -> bool;

    /// What a frame asks or answers, of which keys, and whose values it carries, for people; none
    /// if it is not a frame of the protocol.
    fn describe(&self, frame: &[u8]) -> Option<String>;
}
