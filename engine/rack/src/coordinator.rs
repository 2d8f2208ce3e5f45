//! The coordinator node: several workers behind one socket.
//!
//! A switch port is one UDP socket, so the kernel cannot distribute frames by sender. Instead all
//! workers wait at the socket. The kernel wakes one of them, which receives a batch, handles it and
//! sends the results; so the system calls, most of the work, run in parallel. Pending requests are
//! partitioned by client and request number into as many parts as there are workers, so that
//! workers seldom contend for the lock of a part.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netkv_roles::registry::CoordinatorRole;
use netkv_roles::{Coordinator, Counts};
use serde_json::{Map, Value, json};

use crate::clock;
use crate::config::CoordinatorConfig;
use crate::counters::{self, counters};
use crate::endpoint::Endpoint;
use crate::lock::lock;
use crate::sys::Link;
use crate::worker::Worker;

counters! {
    /// Counts of the node's socket since the node was started.
    pub struct Counters { received, sent, oversized, send_drops }
}

struct Shared {
    role: CoordinatorRole,
    parts: Vec<Mutex<Box<dyn Coordinator>>>,
    counters: Counters,
}

/// A running coordinator: see the module.
pub struct CoordinatorNode {
    shared: Arc<Shared>,
    /// Shared with the workers; `None` (and closed) once the node is stopped.
    socket: Mutex<Option<Arc<Link>>>,
    workers: Vec<Worker>,
}

impl CoordinatorNode {
    /// Checks the configuration and binds the socket. Errors are sentences.
    pub fn new(config: &CoordinatorConfig) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let role = config.role;
        let parts: Result<Vec<_>, _> = config.options(clock::first_request()).and_then(|all| {
            all.iter().map(|options| (role.new)(options).map(Mutex::new)).collect()
        });
        let parts = parts.map_err(invalid)?;
        let socket = Link::described("the coordinator node", &config.bind, &config.peer)?;
        let workers = (0..config.workers).map(|_| Worker::new()).collect::<io::Result<_>>()?;
        let shared = Shared { role, parts, counters: Counters::default() };
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
                move |signals| run(&shared, Endpoint::with_others(&*socket, signals)?),
                || {},
            )?;
        }
        Ok(())
    }

    /// Ends the workers and closes the socket; a second call does nothing.
    pub fn stop(&self) {
        self.workers.iter().for_each(Worker::stop);
        lock(&self.socket).take();
    }

    /// Why a worker has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.workers.iter().find_map(|worker| worker.signals().failure())
    }

    /// Counts; `_engine.pyi` describes them.
    pub fn statistics(&self) -> Value {
        let mut sum = Counts::new();
        self.shared.parts.iter().for_each(|part| add(&mut sum, lock(part).counts()));
        let mut document = counters::document(&sum);
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

/// Adds the counts of a worker to those of others.
fn add(sum: &mut Counts, counts: Counts) {
    if sum.is_empty() {
        *sum = counts;
        return;
    }
    for ((_, sum), (_, count)) in sum.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// The loop of one worker's thread.
fn run(shared: &Shared, mut endpoint: Endpoint<'_, Link>) -> io::Result<()> {
    let counters = &shared.counters;
    let mut deadline = None;
    loop {
        let ready = endpoint.wait(deadline)?;
        if endpoint.stopping() {
            return Ok(());
        }
        if ready {
            counters.received.add(endpoint.receive()?);
        }
        let now = clock::now();
        if ready {
            let workers = shared.parts.len() as u32;
            for frame in endpoint.received.frames() {
                let Some(frame) = frame else {
                    counters.oversized.add(1);
                    continue;
                };
                let part = (shared.role.worker_of)(frame, workers) as usize;
                lock(&shared.parts[part]).on_frame(now, frame, &mut endpoint.actions);
            }
        }
        deadline = None;
        for part in &shared.parts {
            let mut part = lock(part);
            if part.deadline().is_some_and(|due| due <= now) {
                part.on_timer(now, &mut endpoint.actions);
            }
            // All workers wake at a deadline; the first runs the timer.
            deadline = [deadline, part.deadline()].into_iter().flatten().min();
        }
        let sent = endpoint.send();
        counters.sent.add(sent.frames);
        counters.send_drops.add(sent.dropped);
    }
}
