//! The client node: the load generator behind one socket.
//!
//! The thread sleeps until a frame arrives, or the next arrival, retry or deadline is due. Latency
//! counts from the intended send time, so it includes the delay of a late wake-up. Other threads
//! give commands and take samples between rounds.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::clock;
use crate::command::Command;
use crate::config::ClientConfig;
use crate::counters::counters;
use crate::endpoint::Endpoint;
use crate::generator::Generator;
use crate::lock::lock;
use crate::sys::Link;
use crate::worker::Worker;

counters! {
    /// Counts of the node's socket since the node was started.
    pub struct Counters { received, sent, oversized, send_drops }
}

struct Shared {
    generator: Mutex<Generator>,
    counters: Counters,
}

/// A running load generator: see the module.
pub struct ClientNode {
    shared: Arc<Shared>,
    /// Shared with the thread; `None` (and closed) once the node is stopped.
    socket: Mutex<Option<Arc<Link>>>,
    worker: Worker,
}

impl ClientNode {
    /// Checks the configuration and binds the socket. Errors are sentences.
    pub fn new(config: &ClientConfig) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let generator = Generator::new(&config.load, clock::first_request(), clock::now());
        let generator = Mutex::new(generator.map_err(invalid)?);
        let socket = Link::described("the client node", &config.bind, &config.peer)?;
        let shared = Shared { generator, counters: Counters::default() };
        Ok(Self {
            shared: Arc::new(shared),
            socket: Mutex::new(Some(Arc::new(socket))),
            worker: Worker::new()?,
        })
    }

    /// Starts the thread. It generates no load until a phase begins.
    pub fn start(&self) -> io::Result<()> {
        let Some(socket) = lock(&self.socket).clone() else {
            return Err(io::Error::other("The client node was stopped; make a new one."));
        };
        let shared = Arc::clone(&self.shared);
        self.worker.start(
            "client node",
            move |signals| {
                Loop { shared: &shared, endpoint: Endpoint::new(&*socket, signals)? }.run()
            },
            || {},
        )
    }

    /// Ends the thread and closes the socket; a second call does nothing.
    pub fn stop(&self) {
        self.worker.stop();
        lock(&self.socket).take();
    }

    /// Carries out a JSON command and returns the JSON reply.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the command.
    pub fn command(&self, text: &str) -> Result<Value, String> {
        let command = Command::parse(text)?;
        let reply = lock(&self.shared.generator).carry_out(clock::now(), command)?;
        self.worker.signals().waker.wake();
        Ok(reply)
    }

    /// Why the node has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }

    /// The counts since the last call; `_engine.pyi` describes them.
    pub fn sample(&self) -> Value {
        let sample = lock(&self.shared.generator).take_sample(clock::now());
        // Encodes the histogram without the lock, so that the thread need not wait.
        let (mut document, spare) = sample.document();
        lock(&self.shared.generator).give_back(spare);
        for (name, count) in self.shared.counters.read() {
            document["socket"][name] = json!(count);
        }
        let drops = lock(&self.socket).as_ref().map_or(0, |socket| socket.receive_drops());
        document["socket"]["receive_drops"] = json!(drops);
        document["failed"] = json!(self.failure());
        document
    }
}

/// The state of the thread.
struct Loop<'a> {
    shared: &'a Shared,
    /// Has the frames of the round, taken from the generator so that commands need not wait until
    /// they are sent.
    endpoint: Endpoint<'a, Link>,
}

impl Loop<'_> {
    fn run(mut self) -> io::Result<()> {
        // Clients of some schemes register before any load.
        let mut deadline = lock(&self.shared.generator).deadline();
        loop {
            let ready = self.endpoint.wait(deadline)?;
            if self.endpoint.stopping() {
                return Ok(());
            }
            let shared = self.shared;
            let mut generator = lock(&shared.generator);
            if ready {
                self.frames(&mut generator)?;
            }
            generator.poll(clock::now()).map_err(io::Error::other)?;
            generator.end_finished_phase();
            std::mem::swap(generator.actions(), &mut self.endpoint.actions);
            deadline = generator.deadline();
            drop(generator);
            let sent = self.endpoint.send();
            shared.counters.sent.add(sent.frames);
            shared.counters.send_drops.add(sent.dropped);
        }
    }

    fn frames(&mut self, generator: &mut Generator) -> io::Result<()> {
        let counters = &self.shared.counters;
        counters.received.add(self.endpoint.receive()?);
        let now = clock::now();
        for frame in self.endpoint.received.frames() {
            match frame {
                Some(frame) => generator.on_frame(now, frame),
                None => counters.oversized.add(1),
            }
        }
        Ok(())
    }
}
