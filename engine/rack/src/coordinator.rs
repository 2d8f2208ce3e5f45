//! The coordinator node of multigets: several workers behind one socket.
//!
//! A switch port is one UDP socket, so the kernel cannot share frames out by their senders. Every
//! worker waits at the socket instead, one of them is woken for what has come, takes a batch and
//! sends what comes of it: the system calls, which are most of the work, run side by side. What is
//! under way is kept in as many parts as there are workers, by client and number, so that workers
//! seldom want the same one.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netkv_roles::Actions;
use netkv_roles::multiget::{Coordinator, CoordinatorStats};
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

struct Shared {
    parts: Vec<Mutex<Coordinator>>,
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
        let parts: Result<Vec<_>, _> = config.roles(clock::first_request()).and_then(|roles| {
            roles.into_iter().map(|role| Coordinator::new(role).map(Mutex::new)).collect()
        });
        let parts = parts.map_err(invalid)?;
        let socket = Socket::open("the coordinator node", config.bind, config.peer, true)?;
        let workers = (0..config.workers).map(|_| Worker::new()).collect::<io::Result<_>>()?;
        let shared = Shared { parts, counters: Counters::default() };
        Ok(Self { shared: Arc::new(shared), socket: Mutex::new(Some(Arc::new(socket))), workers })
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
        let mut sum = Counts::default();
        self.shared.parts.iter().for_each(|part| sum.add(&lock(part)));
        let mut document = sum.document();
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
#[derive(Default)]
pub(crate) struct Counts {
    stats: CoordinatorStats,
    under_way: usize,
}

impl Counts {
    /// Adds those of a worker.
    pub(crate) fn add(&mut self, worker: &Coordinator) {
        let (sum, stats) = (&mut self.stats, worker.stats());
        sum.requests += stats.requests;
        sum.keys += stats.keys;
        sum.writes += stats.writes;
        sum.sub_requests += stats.sub_requests;
        sum.retries += stats.retries;
        sum.replies += stats.replies;
        sum.overloaded += stats.overloaded;
        sum.joined += stats.joined;
        sum.expired += stats.expired;
        sum.refused += stats.refused;
        sum.busy_servers += stats.busy_servers;
        sum.late_replies += stats.late_replies;
        sum.malformed += stats.malformed;
        sum.unexpected += stats.unexpected;
        sum.most_under_way += stats.most_under_way;
        self.under_way += worker.under_way();
    }

    pub(crate) fn document(&self) -> Value {
        let stats = &self.stats;
        json!({
            "requests": stats.requests,
            "keys": stats.keys,
            "writes": stats.writes,
            "groups": stats.sub_requests,
            "retries": stats.retries,
            "replies": stats.replies,
            "overloaded": stats.overloaded,
            "joined": stats.joined,
            "expired": stats.expired,
            "refused": stats.refused,
            "busy_servers": stats.busy_servers,
            "late_replies": stats.late_replies,
            "malformed": stats.malformed,
            "unexpected": stats.unexpected,
            "most_under_way": stats.most_under_way,
            "under_way": self.under_way,
        })
    }
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
            let now = clock::now();
            if ready {
                let workers = shared.parts.len() as u32;
                for frame in self.received.frames() {
                    let Some(frame) = frame else {
                        counters.oversized.add(1);
                        continue;
                    };
                    let part = Coordinator::worker_of(frame, workers) as usize;
                    lock(&shared.parts[part]).on_frame(now, frame, &mut self.actions);
                }
            }
            deadline = None;
            for part in &shared.parts {
                let mut part = lock(part);
                if part.deadline().is_some_and(|due| due <= now) {
                    part.on_timer(now, &mut self.actions);
                }
                // Whoever wakes first does what is due; the others find nothing.
                deadline = [deadline, part.deadline()].into_iter().flatten().min();
            }
            let sent = self.sender.send(self.socket, self.actions.bytes(), self.actions.ranges());
            self.actions.clear();
            counters.sent.add(sent.frames);
            counters.send_drops.add(sent.dropped);
        }
    }
}
