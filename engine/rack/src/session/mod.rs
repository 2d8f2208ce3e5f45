//! A user of a rack that is up: operations of a program, carried out by the client role of the rack,
//! behind a socket and in a thread of their own.
//!
//! Rules
//! -----
//! 1. Whoever hands operations in never waits for the thread, and the thread never waits for
//!    anybody: operations and their ends are handed over in lists that are locked for a moment.
//! 2. One wake-up takes all that was handed in meanwhile, and what it wants sent leaves together.
//! 3. Every operation that was handed in ends, unless the session does first; then the bell rings,
//!    too, and [`Session::failure`] says why.
//! 4. A session that is stopped deregisters first, if its role has a registration, for as long as the
//!    role waits for the answer. What is under way then does not end any more.

mod role;

use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};

use netkv_roles::{Actions, Client, Completion, Counts, Nanos};

pub use role::{OwnedOp, SessionConfig};

use crate::clock;
use crate::counters::counters;
use crate::sys::{Poller, Received, Sender, Socket, Waker, Watched};
use crate::worker::{Signals, Worker, lock};

/// Operations that may wait for the thread to take them.
const MAX_SUBMITTED: usize = 65_536;
/// Tokens in the poller.
const WAKER: u64 = 0;
const SOCKET: u64 = 1;

counters! {
    /// What a session has seen since it was started; `bursts` are rounds that sent something.
    pub struct Counters { received, sent, bursts, oversized, send_drops }
}

struct Shared {
    submitted: Mutex<Vec<(u64, OwnedOp)>>,
    ended: Mutex<Vec<Completion>>,
    /// Rings when something has ended, or the thread has.
    bell: Waker,
    /// Of the protocol.
    gauges: Mutex<Counts>,
    counters: Counters,
}

/// A user's client: see the module.
pub struct Session {
    shared: Arc<Shared>,
    /// Gone once the thread has them.
    parts: Mutex<Option<(Socket, Box<dyn Client>)>>,
    worker: Worker,
}

impl Session {
    /// Checks the configuration and takes the address. Errors are sentences; an address that
    /// another process has is `AddrInUse`.
    pub fn new(config: &SessionConfig) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let client = config.client(clock::unix_nanos()).map_err(invalid)?;
        let socket = Socket::open("the session", config.bind, config.peer, true)?;
        let shared = Shared {
            submitted: Mutex::default(),
            ended: Mutex::default(),
            bell: Waker::new()?,
            gauges: Mutex::default(),
            counters: Counters::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            parts: Mutex::new(Some((socket, client))),
            worker: Worker::new()?,
        })
    }

    /// Starts the thread, once.
    pub fn start(&self) -> io::Result<()> {
        let Some((socket, client)) = lock(&self.parts).take() else {
            return Err(io::Error::other("The session was started before; make a new one."));
        };
        let (shared, listening) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        self.worker.start(
            "session",
            move |signals| Loop::new(&shared, socket, client, signals)?.run(),
            move || listening.bell.wake(),
        )
    }

    /// Takes leave, ends the thread and gives the address back; nothing happens the second time.
    pub fn stop(&self) {
        self.worker.stop();
        lock(&self.parts).take();
    }

    /// Hands an operation in; [`Session::take`] has its end under `token`.
    ///
    /// # Errors
    ///
    /// A sentence, if the session has ended or too many wait.
    pub fn submit(&self, token: u64, op: OwnedOp) -> Result<(), String> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if self.worker.signals().stopping() {
            return Err("The session was closed.".to_owned());
        }
        let mut submitted = lock(&self.shared.submitted);
        if submitted.len() >= MAX_SUBMITTED {
            return Err(format!("Too many operations are under way: {MAX_SUBMITTED} wait."));
        }
        // If others wait, the thread has been told and has not looked yet.
        let tell = submitted.is_empty();
        submitted.push((token, op));
        drop(submitted);
        if tell {
            self.worker.signals().waker.wake();
        }
        Ok(())
    }

    /// What has ended since the last call. The bell is silent until more does.
    pub fn take(&self) -> Vec<Completion> {
        // In this order, or what ends in between would not be heard.
        self.shared.bell.clear();
        std::mem::take(&mut *lock(&self.shared.ended))
    }

    /// A descriptor that can be read when there is something to [`Session::take`], or the session
    /// has failed.
    pub fn bell(&self) -> RawFd {
        self.shared.bell.descriptor()
    }

    /// Why the session has ended by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }

    /// Counts by name, and the gauges of the protocol.
    pub fn statistics(&self) -> Counts {
        let mut counts = self.shared.counters.read();
        counts.extend(lock(&self.shared.gauges).iter());
        counts
    }
}

/// What the thread owns.
struct Loop<'a> {
    shared: &'a Shared,
    signals: &'a Signals,
    socket: Socket,
    client: Box<dyn Client>,
    poller: Poller,
    received: Received,
    sender: Sender,
    actions: Actions,
    ended: Vec<Completion>,
    gauges: Counts,
    leaving: bool,
}

impl<'a> Loop<'a> {
    fn new(
        shared: &'a Shared,
        socket: Socket,
        client: Box<dyn Client>,
        signals: &'a Signals,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        poller.watch(&socket, SOCKET)?;
        Ok(Self {
            shared,
            signals,
            socket,
            client,
            poller,
            received: Received::default(),
            sender: Sender::default(),
            actions: Actions::new(),
            ended: Vec::new(),
            gauges: Counts::new(),
            leaving: false,
        })
    }

    fn run(mut self) -> io::Result<()> {
        while !(self.leaving && self.client.has_left()) {
            let mut ready = false;
            for token in self.poller.wait(clock::until(self.client.deadline()))? {
                match token {
                    WAKER => self.signals.waker.clear(),
                    _ => ready = true,
                }
            }
            let now = clock::now();
            if ready {
                self.frames(now)?;
            }
            self.submitted(now);
            if self.signals.stopping() && !self.leaving {
                self.leaving = true;
                self.client.leave(now, &mut self.actions);
            }
            self.client.poll(now, &mut self.actions);
            self.actions.take_failure().map_or(Ok(()), |text| Err(io::Error::other(text)))?;
            self.send();
            self.hand_over();
        }
        Ok(())
    }

    fn frames(&mut self, now: Nanos) -> io::Result<()> {
        let counters = &self.shared.counters;
        counters.received.add(self.received.fill(&self.socket)? as u64);
        for frame in self.received.frames() {
            match frame {
                Some(frame) => self.client.on_frame(now, frame, &mut self.actions),
                None => counters.oversized.add(1),
            }
        }
        Ok(())
    }

    fn submitted(&mut self, now: Nanos) {
        let submitted = std::mem::take(&mut *lock(&self.shared.submitted));
        for (token, op) in submitted {
            let refused = op.submit(now, token, self.client.as_mut(), &mut self.actions);
            self.ended.extend(refused);
        }
    }

    fn send(&mut self) {
        if self.actions.ranges().is_empty() {
            return;
        }
        let actions = &mut self.actions;
        let sent = self.sender.send(&self.socket, actions.bytes(), actions.ranges());
        actions.clear();
        let counters = &self.shared.counters;
        counters.bursts.add(1);
        counters.sent.add(sent.frames);
        counters.send_drops.add(sent.dropped);
    }

    fn hand_over(&mut self) {
        // Not while the list is locked: a role in Python would wait for Python in that time.
        self.gauges.clear();
        self.client.add_gauges(&mut self.gauges);
        std::mem::swap(&mut *lock(&self.shared.gauges), &mut self.gauges);
        self.client.completions(&mut self.ended);
        if self.ended.is_empty() {
            return;
        }
        let mut ended = lock(&self.shared.ended);
        // What nobody has taken yet has rung the bell.
        let tell = ended.is_empty();
        ended.append(&mut self.ended);
        drop(ended);
        if tell {
            self.shared.bell.wake();
        }
    }
}

#[cfg(test)]
mod tests;
