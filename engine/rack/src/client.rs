//! The client node: the load generator behind one socket.
//!
//! The thread sleeps until a frame comes or the next arrival, retry or deadline is due, to the
//! nanosecond as far as the kernel wakes it in time; latency counts from the intended start, so a
//! late wake-up is not hidden. Commands and samples come from other threads, between rounds.

use std::io;
use std::sync::{Arc, Mutex};

use netkv_roles::{Actions, Client, ClientStats, Nanos, SECOND};
use netkv_workload::{Shift, Workload};
use serde_json::{Value, json};

use crate::clock;
use crate::command::{Command, PhaseName};
use crate::config::ClientConfig;
use crate::counters::counters;
use crate::sample;
use crate::sys::{Poller, Received, Sender, Socket};
use crate::worker::{Signals, Worker, lock};

counters! {
    /// What the node has seen at its socket since it was started.
    pub struct Counters { received, sent, oversized, send_drops }
}

/// Tokens in the poller.
const WAKER: u64 = 0;
const SOCKET: u64 = 1;

/// What the thread and commands work on.
struct State {
    client: Client,
    /// Frames that a command wants sent; the thread sends them.
    actions: Actions,
    phase: PhaseName,
    sampled_at: Nanos,
    /// Reads of the verification that were sent, as far as they are in samples.
    verifying: u64,
    /// Counts of the sample before, to be used again.
    spare: ClientStats,
    shifts: Option<Shifts>,
}

/// Popularity shifts by the clock, while measuring.
struct Shifts {
    shift: Shift,
    every: Nanos,
    next: Nanos,
}

struct Shared {
    state: Mutex<State>,
    counters: Counters,
}

/// A running load generator: see the module.
pub struct ClientNode {
    shared: Arc<Shared>,
    /// The thread has it too; gone (and closed) once the node is stopped.
    socket: Mutex<Option<Arc<Socket>>>,
    worker: Worker,
}

impl ClientNode {
    /// Checks the configuration and binds the socket. Errors are sentences.
    pub fn new(config: ClientConfig) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let role = config.role(clock::first_request()).map_err(invalid)?;
        let workload = Workload::new(config.workload()).map_err(invalid)?;
        let shifts = config.shifts().map_err(invalid)?.map(|(shift, every)| Shifts {
            shift,
            every,
            next: Nanos::MAX,
        });
        let client = Client::new(role, workload).map_err(invalid)?;
        let socket = Socket::open("the client node", config.bind, config.peer, true)?;
        let state = State {
            client,
            actions: Actions::new(),
            phase: PhaseName::Idle,
            sampled_at: clock::now(),
            verifying: 0,
            spare: ClientStats::default(),
            shifts,
        };
        let shared = Shared { state: Mutex::new(state), counters: Counters::default() };
        Ok(Self {
            shared: Arc::new(shared),
            socket: Mutex::new(Some(Arc::new(socket))),
            worker: Worker::new()?,
        })
    }

    /// Starts the thread; it sends nothing until a phase is begun.
    pub fn start(&self) -> io::Result<()> {
        let Some(socket) = lock(&self.socket).clone() else {
            return Err(io::Error::other("The client node was stopped; make a new one."));
        };
        let shared = Arc::clone(&self.shared);
        self.worker.start(
            "client node",
            move |signals| Loop::new(&shared, &socket, signals)?.run(),
            || {},
        )
    }

    /// Ends the thread and closes the socket; nothing happens the second time.
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
        let mut state = lock(&self.shared.state);
        let reply = state.carry_out(command)?;
        drop(state);
        self.worker.signals().waker.wake();
        Ok(reply)
    }

    /// Why the node has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }

    /// What happened since the last call, as `_engine.pyi` describes it.
    pub fn sample(&self) -> Value {
        let mut guard = lock(&self.shared.state);
        let state = &mut *guard;
        let now = clock::now();
        let interval = now - std::mem::replace(&mut state.sampled_at, now);
        state.client.take_stats(&mut state.spare);
        let phase = state.phase;
        let outstanding = state.client.outstanding();
        let verified = state.client.verified();
        let counts = &state.spare.counts;
        if phase == PhaseName::Verify {
            state.verifying += counts.sent - counts.retries;
        }
        let read_back = state.verifying.saturating_sub(outstanding as u64);
        // The thread must not wait while the histogram is packed.
        let stats = std::mem::take(&mut state.spare);
        drop(guard);
        let mut document = sample::document(&stats, interval, verified);
        lock(&self.shared.state).spare = stats;
        document["phase"] = json!(phase);
        document["outstanding"] = json!(outstanding);
        if phase == PhaseName::Verify {
            document["verified"] = json!(read_back);
        }
        for (name, count) in self.shared.counters.read() {
            document["socket"][name] = json!(count);
        }
        let drops = lock(&self.socket).as_ref().map_or(0, |socket| socket.receive_drops());
        document["socket"]["receive_drops"] = json!(drops);
        document["failed"] = json!(self.failure());
        document
    }
}

impl State {
    fn carry_out(&mut self, command: Command) -> Result<Value, String> {
        let now = clock::now();
        match command {
            Command::Phase { name } => self.begin(name, now),
            Command::Rate { .. } | Command::Outstanding { .. } => {
                let arrivals = command.arrivals()?;
                self.client.set_arrivals(now, arrivals, &mut self.actions);
            }
            Command::Shift(shift) => self.client.workload_mut().shift(shift.into())?,
            Command::Hottest { n } => {
                let hex = |key: [u8; 16]| key.map(|byte| format!("{byte:02x}")).concat();
                let keys: Vec<String> = self.client.workload().hottest(n).map(hex).collect();
                return Ok(json!({ "keys": keys }));
            }
        }
        Ok(json!({ "ok": true }))
    }

    fn begin(&mut self, name: PhaseName, now: Nanos) {
        match name {
            PhaseName::Warmup | PhaseName::Measure => {
                // From one of the two to the other the load just goes on.
                if !matches!(self.phase, PhaseName::Warmup | PhaseName::Measure) {
                    self.client.start(now, &mut self.actions);
                }
            }
            PhaseName::Drain | PhaseName::Idle => self.client.pause(),
            PhaseName::Verify => {
                self.verifying = 0;
                self.client.verify(now, &mut self.actions);
            }
        }
        if let Some(shifts) = &mut self.shifts {
            let measuring = name == PhaseName::Measure;
            shifts.next = if measuring { now + shifts.every } else { Nanos::MAX };
        }
        self.phase = name;
        self.settle();
    }

    /// A phase that ends by itself may have ended.
    fn settle(&mut self) {
        let over = match self.phase {
            PhaseName::Drain => self.client.outstanding() == 0,
            PhaseName::Verify => self.client.verified().is_some(),
            _ => false,
        };
        if over {
            self.phase = PhaseName::Idle;
        }
    }

    /// Does what is due.
    fn poll(&mut self, now: Nanos) -> Result<(), String> {
        if let Some(shifts) = self.shifts.as_mut().filter(|shifts| shifts.next <= now) {
            shifts.next += shifts.every;
            let shift = shifts.shift;
            self.client.workload_mut().shift(shift)?;
        }
        if self.client.deadline().is_some_and(|deadline| deadline <= now) {
            self.client.poll(now, &mut self.actions);
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Nanos> {
        let shift = self.shifts.as_ref().map(|shifts| shifts.next);
        let due = [self.client.deadline(), shift].into_iter().flatten().min();
        due.filter(|at| *at != Nanos::MAX)
    }
}

/// What the thread owns.
struct Loop<'a> {
    shared: &'a Shared,
    socket: &'a Socket,
    signals: &'a Signals,
    poller: Poller,
    received: Received,
    sender: Sender,
    /// What the round wants sent, taken from the state so that commands need not wait for it.
    actions: Actions,
}

impl<'a> Loop<'a> {
    fn new(shared: &'a Shared, socket: &'a Socket, signals: &'a Signals) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        poller.watch(socket, SOCKET)?;
        let (received, sender) = (Received::default(), Sender::default());
        Ok(Self { shared, socket, signals, poller, received, sender, actions: Actions::new() })
    }

    fn run(mut self) -> io::Result<()> {
        let mut deadline = None;
        loop {
            let mut ready = false;
            for token in self.poller.wait(clock::until(deadline))? {
                match token {
                    WAKER => self.signals.waker.clear(),
                    _ => ready = true,
                }
            }
            if self.signals.stopping() {
                return Ok(());
            }
            let shared = self.shared;
            let mut state = lock(&shared.state);
            if ready {
                self.frames(&mut state)?;
            }
            state.poll(clock::now()).map_err(io::Error::other)?;
            state.settle();
            std::mem::swap(&mut state.actions, &mut self.actions);
            deadline = state.deadline();
            drop(state);
            let actions = &mut self.actions;
            let sent = self.sender.send(self.socket, actions.bytes(), actions.ranges());
            actions.clear();
            shared.counters.sent.add(sent.frames);
            shared.counters.send_drops.add(sent.dropped);
        }
    }

    fn frames(&mut self, state: &mut State) -> io::Result<()> {
        let counters = &self.shared.counters;
        counters.received.add(self.received.fill(self.socket)? as u64);
        let now = clock::now();
        for frame in self.received.frames() {
            match frame {
                Some(frame) => state.client.on_frame(now, frame, &mut state.actions),
                None => counters.oversized.add(1),
            }
        }
        Ok(())
    }
}

/// Seconds as nanoseconds; a sentence if that is no time.
pub(crate) fn nanos(name: &str, seconds: f64) -> Result<Nanos, String> {
    if seconds > 0.0 && seconds <= 1e6 {
        return Ok((seconds * SECOND as f64) as Nanos);
    }
    Err(format!("'{name}' is {seconds}; it must be above 0 and at most a million seconds."))
}
