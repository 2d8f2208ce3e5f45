//! The coordinator node of multigets: several workers behind one socket.
//!
//! A switch port is one UDP socket, so the kernel cannot share frames out by their senders. Every
//! worker waits at the socket instead, one of them is woken for what has come, takes a batch and
//! sends what comes of it. The system calls, which are most of the work, run side by side; the role
//! is locked between them only.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netkv_roles::Actions;
use netkv_roles::multiget::Coordinator;
use serde_json::{Map, Value, json};

use crate::clock;
use crate::config::CoordinatorConfig;
use crate::counters::counters;
use crate::sys::{Poller, Received, Sender, Socket};
use crate::worker::{Signals, Worker, lock};

counters! {
    /// What the node has seen at its socket since it was started.
    pub struct Counters { received, sent, oversized, send_drops }
}

/// Tokens in the poller.
const WAKER: u64 = 0;
const SOCKET: u64 = 1;
/// Workers that a node may have.
const MOST_WORKERS: usize = 64;

struct Shared {
    role: Mutex<Coordinator>,
    counters: Counters,
}

/// A running coordinator: see the module.
pub struct CoordinatorNode {
    shared: Arc<Shared>,
    /// The workers have it too; gone (and closed) once the node is stopped.
    socket: Mutex<Option<Arc<Socket>>>,
    workers: Vec<Worker>,
}

impl CoordinatorNode {
    /// Checks the configuration and binds the socket. Errors are sentences.
    pub fn new(config: &CoordinatorConfig) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        if config.workers == 0 || config.workers > MOST_WORKERS {
            return Err(invalid(format!(
                "'workers' is {}; it must be from 1 to {MOST_WORKERS}.",
                config.workers
            )));
        }
        let role = config.role(clock::first_request()).and_then(Coordinator::new);
        let role = Mutex::new(role.map_err(invalid)?);
        let socket = Socket::open("the coordinator node", config.bind, config.peer, true)?;
        let workers = (0..config.workers).map(|_| Worker::new()).collect::<io::Result<_>>()?;
        let shared = Shared { role, counters: Counters::default() };
        Ok(Self {
            shared: Arc::new(shared),
            socket: Mutex::new(Some(Arc::new(socket))),
            workers,
        })
    }

    /// Starts the workers.
    pub fn start(&self) -> io::Result<()> {
        let Some(socket) = lock(&self.socket).clone() else {
            return Err(io::Error::other("The coordinator node was stopped; make a new one."));
        };
        for worker in &self.workers {
            let (shared, socket) = (Arc::clone(&self.shared), Arc::clone(&socket));
            worker.start(
                "coordinator node",
                move |signals| Loop::new(&shared, &socket, signals)?.run(),
                || {},
            )?;
        }
        Ok(())
    }

    /// Ends the workers and closes the socket; nothing happens the second time.
    pub fn stop(&self) {
        self.workers.iter().for_each(Worker::stop);
        lock(&self.socket).take();
    }

    /// Why a worker has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.workers.iter().find_map(|worker| worker.signals().failure())
    }

    /// Counts as `_engine.pyi` describes them.
    pub fn statistics(&self) -> Value {
        let mut document = counts_of(&lock(&self.shared.role));
        let socket: Map<String, Value> = (self.shared.counters.read().into_iter())
            .map(|(name, count)| (name.to_owned(), json!(count)))
            .collect();
        document["socket"] = Value::Object(socket);
        let drops = lock(&self.socket).as_ref().map_or(0, |socket| socket.receive_drops());
        document["dropped"] = json!(drops);
        let busy: Duration = self.workers.iter().map(Worker::cpu_time).sum();
        document["busy_s"] = json!(busy.as_secs_f64());
        document["failed"] = json!(self.failure());
        document
    }
}

/// Counts of a coordinator as samples have them.
pub(crate) fn counts_of(coordinator: &Coordinator) -> Value {
    let stats = coordinator.stats();
    json!({
        "requests": stats.requests,
        "groups": stats.groups,
        "keys": stats.keys,
        "answered": stats.answered,
        "overloaded": stats.overloaded,
        "duplicates": stats.duplicates,
        "retries": stats.retries,
        "expired": stats.expired,
        "malformed": stats.malformed,
        "under_way": coordinator.under_way(),
    })
}

/// What a worker owns.
struct Loop<'a> {
    shared: &'a Shared,
    socket: &'a Socket,
    signals: &'a Signals,
    poller: Poller,
    received: Received,
    sender: Sender,
    actions: Actions,
}

impl<'a> Loop<'a> {
    fn new(shared: &'a Shared, socket: &'a Socket, signals: &'a Signals) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        poller.watch_with_others(socket, SOCKET)?;
        Ok(Self {
            shared,
            socket,
            signals,
            poller,
            received: Received::default(),
            sender: Sender::default(),
            actions: Actions::new(),
        })
    }

    fn run(mut self) -> io::Result<()> {
        let mut deadline = None;
        loop {
            let ready = self.poller.wait(clock::until(deadline))?.any(|token| token == SOCKET);
            if self.signals.stopping() {
                return Ok(());
            }
            let shared = self.shared;
            let counters = &shared.counters;
            if ready {
                counters.received.add(self.received.fill(self.socket)? as u64);
            }
            let mut role = lock(&shared.role);
            let now = clock::now();
            if ready {
                for frame in self.received.frames() {
                    match frame {
                        Some(frame) => role.on_frame(now, frame, &mut self.actions),
                        None => counters.oversized.add(1),
                    }
                }
            }
            if role.deadline().is_some_and(|due| due <= now) {
                role.poll(now, &mut self.actions);
            }
            deadline = role.deadline();
            drop(role);
            let sent = self.sender.send(self.socket, self.actions.bytes(), self.actions.ranges());
            self.actions.clear();
            counters.sent.add(sent.frames);
            counters.send_drops.add(sent.dropped);
        }
    }
}
