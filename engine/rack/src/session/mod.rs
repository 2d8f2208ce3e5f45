//! The session of an external client: it executes the operations of a user's program with the
//! client role of the rack, in a thread with a socket of its own.
//!
//! Rules
//! -----
//! 1. Threads of the user and the session's thread do not wait for each other: they exchange
//!    operations and completions in lists that are locked only briefly.
//! 2. At a wake-up the session's thread takes all submitted operations, and sends their frames
//!    together.
//! 3. Each submitted operation gets a completion, unless the session ends before. The completion
//!    event is signalled for new completions and at the end of the thread;
//!    [`Session::failure`] says why the thread has ended by itself.
//! 4. If its role has a registration, a session that is stopped deregisters first, and ends when
//!    the role has the answer or has given up. Pending operations then get no completion.

mod role;

use std::io;
use std::sync::{Arc, Mutex};

use netkv_roles::{Completion, Counts, Nanos, UserClient};

pub use role::{OwnedKey, OwnedOp, SessionConfig};

use crate::clock;
use crate::counters::counters;
use crate::endpoint::Endpoint;
use crate::lock::lock;
use crate::sys::{Socket, Waker, Watched};
use crate::worker::Worker;

/// Maximum number of submitted operations that the thread has not taken.
const MAX_SUBMITTED: usize = 65_536;

counters! {
    /// Counts since the session was started; `bursts` counts the rounds that sent frames.
    pub struct Counters { received, sent, bursts, oversized, send_drops }
}

struct Shared {
    submitted: Mutex<Vec<(u64, OwnedOp)>>,
    completed: Mutex<Vec<Completion>>,
    /// Signalled when there are completions, or when the thread has ended.
    completion_event: Waker,
    /// Answered reads, and gauges of the protocol.
    gauges: Mutex<Counts>,
    counters: Counters,
}

/// A session of an external client: see the module.
pub struct Session {
    shared: Arc<Shared>,
    /// `None` once the thread owns them.
    parts: Mutex<Option<(Socket, Box<dyn UserClient>)>>,
    worker: Worker,
}

impl Session {
    /// Checks the configuration and binds the socket. Errors are sentences; if another process uses
    /// the address, the kind is `AddrInUse`.
    pub fn new(config: &SessionConfig) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let client = config.client(clock::unix_nanos()).map_err(invalid)?;
        let socket = Socket::open("the session", config.bind, config.peer, true)?;
        let shared = Shared {
            submitted: Mutex::default(),
            completed: Mutex::default(),
            completion_event: Waker::new()?,
            gauges: Mutex::default(),
            counters: Counters::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            parts: Mutex::new(Some((socket, client))),
            worker: Worker::new()?,
        })
    }

    /// Starts the thread; a second call is an error.
    pub fn start(&self) -> io::Result<()> {
        let Some((socket, client)) = lock(&self.parts).take() else {
            return Err(io::Error::other("The session was started before; make a new one."));
        };
        let (shared, at_end) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        self.worker.start(
            "session",
            move |signals| Loop::new(&shared, Endpoint::new(&socket, signals)?, client).run(),
            move || at_end.completion_event.wake(),
        )
    }

    /// Deregisters, ends the thread and closes the socket; a second call does nothing.
    pub fn stop(&self) {
        self.worker.stop();
        lock(&self.parts).take();
    }

    /// Submits an operation; [`Session::take`] later returns its completion with `token`.
    ///
    /// # Errors
    ///
    /// A sentence, if the session has ended or too many operations wait.
    pub fn submit(&self, token: u64, op: OwnedOp) -> Result<(), String> {
        self.submit_all(&mut vec![(token, op)])
    }

    /// As [`Session::submit`], for many operations with their tokens, which leave the list: their
    /// frames are sent together.
    pub fn submit_all(&self, operations: &mut Vec<(u64, OwnedOp)>) -> Result<(), String> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if self.worker.signals().stopping() {
            return Err("The session was closed.".to_owned());
        }
        let mut submitted = lock(&self.shared.submitted);
        if submitted.len() + operations.len() > MAX_SUBMITTED {
            return Err(format!("Too many operations are under way: {MAX_SUBMITTED} wait."));
        }
        // If the list is not empty, a wake-up is pending.
        let wake = submitted.is_empty();
        submitted.append(operations);
        drop(submitted);
        if wake {
            self.worker.signals().waker.wake();
        }
        Ok(())
    }

    /// Moves the completions to the end of `into`, and resets the completion event.
    pub fn take(&self, into: &mut Vec<Completion>) {
        // In this order: a completion that is added in between signals the event again.
        self.shared.completion_event.clear();
        into.append(&mut lock(&self.shared.completed));
    }

    /// The completion event. It is readable if there are completions to [`Session::take`], or if
    /// the thread has ended.
    pub fn completion_event(&self) -> &impl Watched {
        &self.shared.completion_event
    }

    /// Why the session has ended by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }

    /// Counts by name, and the gauges of the protocol. `reads` and `hits`: answered reads, and
    /// those among them that a cache has answered.
    pub fn statistics(&self) -> Counts {
        let mut counts = self.shared.counters.read();
        counts.extend(lock(&self.shared.gauges).iter());
        counts
    }
}

/// The state of the thread.
struct Loop<'a> {
    shared: &'a Shared,
    endpoint: Endpoint<'a, Socket>,
    client: Box<dyn UserClient>,
    submitted: Vec<(u64, OwnedOp)>,
    completed: Vec<Completion>,
    gauges: Counts,
    leaving: bool,
}

impl<'a> Loop<'a> {
    fn new(
        shared: &'a Shared,
        endpoint: Endpoint<'a, Socket>,
        client: Box<dyn UserClient>,
    ) -> Self {
        let (submitted, completed, gauges) = (Vec::new(), Vec::new(), Counts::new());
        Self { shared, endpoint, client, submitted, completed, gauges, leaving: false }
    }

    fn run(mut self) -> io::Result<()> {
        while !(self.leaving && self.client.has_left()) {
            let ready = self.endpoint.wait(self.client.deadline())?;
            let now = clock::now();
            if ready {
                self.frames(now)?;
            }
            self.take_submitted(now);
            if self.endpoint.stopping() && !self.leaving {
                self.leaving = true;
                self.client.leave(now, &mut self.endpoint.actions);
            }
            self.client.poll(now, &mut self.endpoint.actions);
            self.endpoint
                .actions
                .take_failure()
                .map_or(Ok(()), |text| Err(io::Error::other(text)))?;
            self.send();
            self.hand_over();
        }
        Ok(())
    }

    fn frames(&mut self, now: Nanos) -> io::Result<()> {
        let counters = &self.shared.counters;
        counters.received.add(self.endpoint.receive()?);
        for frame in self.endpoint.received.frames() {
            match frame {
                Some(frame) => self.client.on_frame(now, frame, &mut self.endpoint.actions),
                None => counters.oversized.add(1),
            }
        }
        Ok(())
    }

    fn take_submitted(&mut self, now: Nanos) {
        std::mem::swap(&mut *lock(&self.shared.submitted), &mut self.submitted);
        for (token, op) in self.submitted.drain(..) {
            let refused = op.submit(now, token, self.client.as_mut(), &mut self.endpoint.actions);
            self.completed.extend(refused);
        }
    }

    fn send(&mut self) {
        if self.endpoint.actions.ranges().is_empty() {
            return;
        }
        let sent = self.endpoint.send();
        let counters = &self.shared.counters;
        counters.bursts.add(1);
        counters.sent.add(sent.frames);
        counters.send_drops.add(sent.dropped);
    }

    fn hand_over(&mut self) {
        // Before the list is locked: a role in Python waits here for the interpreter lock.
        self.gauges.clear();
        self.client.add_gauges(&mut self.gauges);
        let counts = self.client.counts();
        self.gauges.extend([("reads", counts.reads), ("hits", counts.hits)]);
        std::mem::swap(&mut *lock(&self.shared.gauges), &mut self.gauges);
        self.client.completions(&mut self.completed);
        if self.completed.is_empty() {
            return;
        }
        let mut completed = lock(&self.shared.completed);
        // If the list is not empty, the event is signalled.
        let wake = completed.is_empty();
        completed.append(&mut self.completed);
        drop(completed);
        if wake {
            self.shared.completion_event.wake();
        }
    }
}

#[cfg(test)]
mod tests;
