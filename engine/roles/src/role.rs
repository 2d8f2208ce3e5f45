//! The roles of a rack as drivers see them: storage servers, clients and coordinators.
//!
//! A driver knows these traits and [`crate::registry`], but no protocol. It hands frames, timers
//! and results of storage calls to a role and carries out the resulting [`Actions`].

use std::any::Any;

use netkv_wire::Key;
use netkv_workload::Arrivals;

use crate::{
    Actions, CallId, ClientCounts, ClientStats, Completion, Counts, Load, Nanos, StoreResult,
    UserOp, VerifyReport,
};

/// A storage server: it serves the requests of clients from its store.
pub trait Server: Send + Sync {
    /// Which server it is, from 0.
    fn index(&self) -> u16;

    /// Handles a frame; pushes the resulting actions onto `out`. Frames that are not for this
    /// server are counted and have no effect.
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions);

    /// The store has finished `call`. An id that is not under way has no effect.
    fn on_stored(&mut self, now: Nanos, call: CallId, result: StoreResult<'_>, out: &mut Actions);

    /// Handles the timers that are due at `now`. An early call has no effect.
    fn on_timer(&mut self, now: Nanos, out: &mut Actions);

    /// When to call [`Server::on_timer`], if nothing happens before.
    fn deadline(&self) -> Option<Nanos>;

    /// Serves `factor` times slower than its service rate, from the next request on; 1 is the rate
    /// itself. False if the server has no rate, so that there is nothing to slow down.
    fn slow(&mut self, factor: f64) -> bool;

    /// Number of keys with work that is under way, waiting or held.
    fn busy_keys(&self) -> usize;

    /// Counts since the start, and gauges of the protocol.
    fn counts(&self) -> Counts;
}

/// The clients of a process. Their operations come from a load ([`LoadClient`]) or from users
/// ([`UserClient`]).
pub trait Client: Send + Sync {
    /// Handles a frame; pushes the resulting actions onto `out`.
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions);

    /// The state that the handling of this frame will access, so that a driver can load it into the
    /// processor's caches before. It is only a hint.
    fn state_of(&self, _bytes: &[u8]) -> Option<&dyn Any> {
        None
    }

    /// Handles the arrivals, retries and deadlines that are due at `now`. An early call has no
    /// effect.
    fn poll(&mut self, now: Nanos, out: &mut Actions);

    /// When to call [`Client::poll`], if nothing happens before.
    fn deadline(&self) -> Option<Nanos>;

    /// Operations under way.
    fn outstanding(&self) -> usize;

    /// Counts that all protocols have, since the start or the last [`LoadClient::take_stats`].
    fn counts(&self) -> &ClientCounts;

    /// Appends the counts of the protocol since the last call, and its gauges.
    fn take_counts(&mut self, _into: &mut Counts) {}

    /// Appends the current gauges of the protocol.
    fn add_gauges(&self, _into: &mut Counts) {}

    /// The process crashes and is restarted at once: requests under way and the state in memory are
    /// lost. A load goes on, and the history is still judged.
    fn crash(&mut self, now: Nanos, out: &mut Actions);

    /// Ends the load and deregisters, if the protocol has a registration. See [`Client::has_left`].
    fn leave(&mut self, now: Nanos, out: &mut Actions);

    /// Whether nothing is left to be sent after [`Client::leave`].
    fn has_left(&self) -> bool {
        true
    }
}

/// Clients whose operations come from a load.
pub trait LoadClient: Client {
    /// The load: its workload, and what its history shows.
    fn load(&self) -> &Load;

    /// The load, to pause it or to change its workload.
    fn load_mut(&mut self) -> &mut Load;

    /// Starts as many operations as may run now.
    fn fill(&mut self, now: Nanos, out: &mut Actions);

    /// Starts or continues the load.
    fn start(&mut self, now: Nanos, out: &mut Actions) {
        self.load_mut().start(now);
        self.fill(now, out);
    }

    /// Changes the arrivals: another rate, or another number outstanding.
    fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions) {
        self.load_mut().set_arrivals(now, arrivals);
        self.fill(now, out);
    }

    /// Moves the counters since the last call into `into`, whose content is replaced, and appends
    /// those of the protocol.
    fn take_stats(&mut self, into: &mut ClientStats) {
        std::mem::swap(&mut self.load_mut().stats, into);
        self.load_mut().stats.clear();
        self.take_counts(&mut into.own);
    }

    /// Starts no more operations and reads back every key that was written, once those under way
    /// have ended. See [`LoadClient::verified`].
    fn verify(&mut self, now: Nanos, out: &mut Actions) {
        self.load_mut().verify();
        self.fill(now, out);
    }

    /// The report of the verification, once it has ended.
    fn verified(&self) -> Option<VerifyReport> {
        self.load().verification.as_ref()?.report(self.outstanding())
    }
}

/// Clients whose operations users submit.
pub trait UserClient: Client {
    /// Submits an operation; [`UserClient::completions`] returns its outcome with `token`.
    ///
    /// # Errors
    ///
    /// A sentence, if this client does not support a key or value, or if too many operations wait.
    fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String>;

    /// Moves the operations that have ended to the end of `into`.
    fn completions(&mut self, into: &mut Vec<Completion>);
}

/// A worker of a coordinator, which sends requests to several servers on behalf of a client.
pub trait Coordinator: Send + Sync {
    /// Handles a frame; pushes the resulting actions onto `out`.
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions);

    /// Handles the timers that are due at `now`. An early call has no effect.
    fn on_timer(&mut self, now: Nanos, out: &mut Actions);

    /// When to call [`Coordinator::on_timer`], if nothing happens before.
    fn deadline(&self) -> Option<Nanos>;

    /// Counts since the start, and requests under way.
    fn counts(&self) -> Counts;
}

/// The work of a server's store for a request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Reads of this number of keys; the key, if the protocol has single keys.
    Get(u8, Option<Key>),
    /// A write, likewise.
    Put(Option<Key>),
    /// A delete, likewise.
    Delete(Option<Key>),
}

/// The view of a protocol's frames that drivers need: their cost and their content.
pub trait Frames: Send + Sync {
    /// The work of a server for a frame; none if it is not a request of a client.
    fn work(&self, frame: &[u8]) -> Option<Work>;

    /// Number of keys of a frame that add to its processing time.
    fn keys(&self, frame: &[u8]) -> u8;

    /// Whether a frame requests or answers one of these keys. Without keys, whether it is a frame
    /// of the protocol.
    fn is_about(&self, frame: &[u8], keys: &[Key]) -> bool;

    /// A text for users: operation, keys and writers of the values of a frame; none if it is not a
    /// frame of the protocol.
    fn describe(&self, frame: &[u8]) -> Option<String>;
}
