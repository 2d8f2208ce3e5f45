//! The live driver of an FPGA design: wall clock and sockets.
//!
//! Each port is a UDP socket, a TAP device or a network interface ([`crate::sys::Link`]), or the
//! function that a guest drives ([`crate::vhost`]). One thread moves frames and runs the clock of
//! the design.
//!
//! Rules
//! 1. The clock runs while a frame is queued or moves, and for [`LiveConfig::idle_cycles`] after
//!    the last one. Then the thread waits for frames. So a cycle has no fixed length in wall time,
//!    but a shortest one if there is a [`LiveConfig::max_hz`]: times that a design counts in cycles
//!    are then never shorter than meant.
//! 2. A port with [`BACKLOG`] frames before the design reads no more from its link: the kernel's
//!    buffer fills, and then drops.
//! 3. Calls of the owner ([`LiveDesign::with`]) run on the thread between two rounds, as do
//!    messages of guests.
//! 4. A notification of a guest, and an interrupt for one, is work like a frame: the clock runs on.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use netkv_fpga::{Design, Error};

use crate::counters;
use crate::lock::lock;
use crate::sys::{Carrier, Link, Plug, Poller, Received, Sender};
use crate::vhost::{self, Event, QUEUES, TOKENS};
use crate::worker::{Signals, Worker};

/// Frames that wait before the design at most, for each port.
pub const BACKLOG: u64 = 256;
/// Cycles of a round: some tens of microseconds.
const ROUND_CYCLES: u64 = 256;
/// Bytes of an Ethernet header.
const MIN_FRAME: usize = 14;
/// Token of the waker in the poller; ports have their index.
const WAKER: u64 = u64::MAX;
/// The first token of guests.
const GUESTS: u64 = 1 << 32;
/// Bits of a function in the interrupts of a design: the configuration, then the queues.
const INTERRUPTS: usize = 1 + QUEUES;

/// Where a port of a design is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A link, through which frames move.
    Link(Plug),
    /// A guest: its front end connects to this socket.
    Guest(PathBuf),
}

/// The configuration of a live design.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveConfig {
    /// Ports of the design, and where they are. A port that is nowhere receives nothing, and loses
    /// the frames that the design sends there.
    pub ports: Vec<(u32, End)>,
    /// Cycles that run after the last frame, for the design to complete its work.
    pub idle_cycles: u64,
    /// Cycles a second at most.
    pub max_hz: Option<f64>,
}

counters! {
    /// Counts since the start.
    pub struct Counters {
        received, received_bytes, sent, sent_bytes, malformed, refused, send_drops, unconnected,
        rounds, cycles, guest_connections, guest_refusals, notifications, interrupts,
        device_errors, receive_drops, cpu_ns,
    }
}

type Job = Box<dyn FnOnce(&mut Design) + Send>;

struct Shared {
    counters: Counters,
    /// The design while the thread does not run: before the start, and after the end.
    design: Mutex<Option<Design>>,
    /// Calls that wait for the thread; `None` while it does not run.
    jobs: Mutex<Option<VecDeque<Job>>>,
    /// Why the front end of a guest was disconnected the last time, by function.
    refusals: Mutex<BTreeMap<u32, String>>,
}

/// The open links, and the ports that have them.
#[derive(Default)]
struct Links {
    links: Vec<Link>,
    ports: Vec<u32>,
}

/// A design that runs live.
pub struct LiveDesign {
    shared: Arc<Shared>,
    /// `None` (and closed) once the design is stopped.
    links: Mutex<Option<Arc<Links>>>,
    /// Guests, until the thread has them.
    guests: Mutex<Vec<vhost::Port>>,
    config: LiveConfig,
    worker: Worker,
}

impl LiveDesign {
    /// Opens the links. Errors are sentences: a link cannot be used, or there is no such port.
    pub fn new(design: Design, config: LiveConfig) -> io::Result<Self> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let (mut links, mut guests) = (Links::default(), Vec::new());
        for (at, (port, end)) in config.ports.iter().enumerate() {
            if *port >= design.ports() {
                let last = design.ports() - 1;
                return invalid(format!("There is no port {port}; the ports are 0 to {last}."));
            }
            if config.ports[..at].iter().any(|(other, _)| other == port) {
                return invalid(format!("Port {port} is given twice."));
            }
            let owner = format!("port {port}");
            match end {
                End::Link(plug) => {
                    links.links.push(Link::open(&owner, plug)?);
                    links.ports.push(*port);
                }
                End::Guest(path) => {
                    let Some(function) = function_of(&design, *port) else {
                        return invalid(format!("Port {port} is no function for a guest."));
                    };
                    guests.push(vhost::Port::open(&owner, path, function)?);
                }
            }
        }
        let shared = Shared {
            counters: Counters::default(),
            design: Mutex::new(Some(design)),
            jobs: Mutex::new(None),
            refusals: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            links: Mutex::new(Some(Arc::new(links))),
            guests: Mutex::new(guests),
            config,
            worker: Worker::new()?,
        })
    }

    /// Starts the clock.
    pub fn start(&self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let closing = Arc::clone(&self.shared);
        let links = lock(&self.links).clone().unwrap_or_default();
        let config = self.config.clone();
        let guests = std::mem::take(&mut *lock(&self.guests));
        let mut jobs = lock(&self.shared.jobs);
        let started = self.worker.start(
            "design",
            move |signals| {
                let Some(design) = lock(&shared.design).take() else { return Ok(()) };
                let mut clock = Loop::new(&shared, &links, &config, signals, design, guests)?;
                let end = clock.run();
                clock.release_guests();
                *lock(&shared.design) = Some(clock.design);
                end
            },
            // Waiting calls are dropped, which their callers notice.
            move || *lock(&closing.jobs) = None,
        );
        if started.is_ok() {
            *jobs = Some(VecDeque::new());
        }
        started
    }

    /// Stops the clock and closes the links; a second call does nothing.
    pub fn stop(&self) {
        let cpu = self.worker.cpu_time();
        self.worker.stop();
        lock(&self.guests).clear();
        if let Some(links) = lock(&self.links).take() {
            self.shared.counters.receive_drops.add(receive_drops(&links));
            self.shared.counters.cpu_ns.add(cpu.as_nanos() as u64);
        }
    }

    /// Calls `work` with the design, between two rounds of its clock.
    ///
    /// # Errors
    ///
    /// A sentence: the clock has stopped because of an error.
    pub fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Design) -> T + Send + 'static,
    ) -> Result<T, String> {
        let (reply, answer) = mpsc::channel();
        let mut jobs = lock(&self.shared.jobs);
        if let Some(jobs) = &mut *jobs {
            jobs.push_back(Box::new(move |design| {
                // The caller waits for it below.
                let _ = reply.send(work(design));
            }));
        } else {
            let mut design = lock(&self.shared.design);
            return design.as_mut().map(work).ok_or_else(|| self.ended());
        }
        drop(jobs);
        self.worker.signals().waker.wake();
        answer.recv().map_err(|_| self.ended())
    }

    fn ended(&self) -> String {
        self.failure().unwrap_or_else(|| "The design has been stopped.".to_owned())
    }

    /// Why the front end of a guest was disconnected the last time, by function.
    pub fn refusals(&self) -> BTreeMap<u32, String> {
        lock(&self.shared.refusals).clone()
    }

    /// Counts by name. "receive_drops" are frames that the kernel dropped because a receive buffer
    /// was full; "cpu_ns" is the processor time of the thread.
    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.shared.counters.read();
        if let Some(links) = &*lock(&self.links) {
            counts.retain(|(name, _)| !["receive_drops", "cpu_ns"].contains(name));
            counts.extend([
                ("receive_drops", receive_drops(links)),
                ("cpu_ns", self.worker.cpu_time().as_nanos() as u64),
            ]);
        }
        counts
    }

    /// Why the design has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }
}

/// The function of a port, if it has one.
fn function_of(design: &Design, port: u32) -> Option<u32> {
    let description = design.description();
    port.checked_sub(description.ports - description.functions)
}

fn receive_drops(links: &Links) -> u64 {
    links.links.iter().map(Link::receive_drops).sum()
}

/// The state of the thread.
struct Loop<'a> {
    shared: &'a Shared,
    links: &'a Links,
    config: &'a LiveConfig,
    signals: &'a Signals,
    design: Design,
    guests: Vec<vhost::Port>,
    poller: Poller,
    ready: Vec<u64>,
    received: Received,
    sender: Sender,
    /// Frames of a round to one port, and their ranges.
    bytes: Vec<u8>,
    ranges: Vec<(usize, usize)>,
    /// Index of the link of each port.
    link_of: Vec<Option<usize>>,
    /// For each link, frames that were queued at the design.
    queued: Vec<u64>,
    /// The cycle at which the clock stops unless a frame moves.
    run_until: u64,
    pace: Option<Pace>,
}

/// Holds a clock back to a rate. Time in which it was slower is not made up for.
struct Pace {
    hz: f64,
    /// The clock had the cycle `at` at that time.
    since: Instant,
    at: u64,
}

impl Pace {
    /// How long the clock has to wait before it runs on.
    fn delay(&mut self, cycle: u64) -> Duration {
        let ran = (cycle - self.at) as f64 / self.hz - self.since.elapsed().as_secs_f64();
        if ran > 0.0 {
            return Duration::from_secs_f64(ran);
        }
        (self.since, self.at) = (Instant::now(), cycle);
        Duration::ZERO
    }
}

impl<'a> Loop<'a> {
    fn new(
        shared: &'a Shared,
        links: &'a Links,
        config: &'a LiveConfig,
        signals: &'a Signals,
        mut design: Design,
        mut guests: Vec<vhost::Port>,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        let mut link_of = vec![None; design.ports() as usize];
        let mut queued = Vec::new();
        for (index, (link, port)) in links.links.iter().zip(&links.ports).enumerate() {
            poller.watch(link, index as u64)?;
            link_of[*port as usize] = Some(index);
            queued.push(processed(&mut design, *port)?);
        }
        for (index, guest) in (0..).zip(&mut guests) {
            design.attach(guest.function).map_err(io::Error::other)?;
            guest.watch(&poller, GUESTS + index * TOKENS)?;
        }
        let run_until = design.cycle() + config.idle_cycles;
        let at = design.cycle();
        let pace = config.max_hz.map(|hz| Pace { hz, since: Instant::now(), at });
        Ok(Self {
            shared,
            links,
            config,
            signals,
            design,
            guests,
            poller,
            ready: Vec::new(),
            received: Received::default(),
            sender: Sender::default(),
            bytes: Vec::new(),
            ranges: Vec::new(),
            link_of,
            queued,
            run_until,
            pace,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        // A call of the owner clears the waker, so it may have taken the wake-up that asks the
        // thread to end.
        while !self.signals.stopping() {
            let limit = self.is_busy().then(|| self.delay());
            self.ready.clear();
            self.ready.extend(self.poller.wait(limit)?);
            if self.signals.stopping() {
                break;
            }
            for at in 0..self.ready.len() {
                match self.ready[at] {
                    WAKER => self.serve(),
                    token if token >= GUESTS => self.hear(token)?,
                    index => self.receive(index as usize)?,
                }
            }
            if self.is_busy() && self.delay().is_zero() {
                self.clock()?;
            }
        }
        Ok(())
    }

    fn delay(&mut self) -> Duration {
        let cycle = self.design.cycle();
        self.pace.as_mut().map_or(Duration::ZERO, |pace| pace.delay(cycle))
    }

    fn is_busy(&self) -> bool {
        self.design.pending_rx() > 0
            || self.design.cycle() < self.run_until
            || self.design.pending_bus() > 0
    }

    /// A frame moves: the clock runs for some time.
    fn keep_running(&mut self) {
        self.run_until = self.design.cycle() + self.config.idle_cycles;
    }

    /// Calls of the owner.
    fn serve(&mut self) {
        self.signals.waker.clear();
        let jobs = lock(&self.shared.jobs).as_mut().map(std::mem::take).unwrap_or_default();
        for job in jobs {
            job(&mut self.design);
        }
    }

    /// Handles messages and notifications of a guest.
    fn hear(&mut self, token: u64) -> io::Result<()> {
        self.keep_running();
        let shared = self.shared;
        let guest = &mut self.guests[((token - GUESTS) / TOKENS) as usize];
        let function = guest.function;
        let mut report = |event| match event {
            Event::Connected => shared.counters.guest_connections.add(1),
            Event::Notified => shared.counters.notifications.add(1),
            Event::Refused(problem) => {
                lock(&shared.refusals).insert(function, problem);
                shared.counters.guest_refusals.add(1);
            }
        };
        guest.handle(token, &mut self.design, &self.poller, &mut report).map_err(io::Error::other)
    }

    /// Passes the interrupts of the design on to guests.
    fn interrupt(&mut self) -> io::Result<()> {
        let all = self.design.interrupts().map_err(io::Error::other)?;
        if all == 0 {
            return Ok(());
        }
        self.keep_running();
        self.shared.counters.interrupts.add(u64::from(all.count_ones()));
        for guest in &mut self.guests {
            let bits = all >> (guest.function as usize * INTERRUPTS);
            let failed = guest.interrupt(bits, &mut self.design).map_err(io::Error::other)?;
            self.shared.counters.device_errors.add(u64::from(failed));
        }
        Ok(())
    }

    /// The clock ends: no guest is served any more.
    fn release_guests(&mut self) {
        for guest in &mut self.guests {
            // A design that has failed accesses no memory.
            let _ = guest.release(&mut self.design);
        }
    }

    /// Queues the frames that wait at a link.
    fn receive(&mut self, index: usize) -> io::Result<()> {
        let port = self.links.ports[index];
        if self.queued[index] - processed(&mut self.design, port)? >= BACKLOG {
            return Ok(());
        }
        let counters = &self.shared.counters;
        let count = self.links.links[index].receive(&mut self.received)?;
        counters.received.add(count as u64);
        let now = self.design.cycle();
        for frame in self.received.frames() {
            let Some(frame) = frame.filter(|frame| frame.len() >= MIN_FRAME) else {
                counters.malformed.add(1);
                continue;
            };
            match self.design.receive(port, frame, now) {
                Ok(_) => {
                    counters.received_bytes.add(frame.len() as u64);
                    self.queued[index] += 1;
                }
                Err(Error::Argument(_) | Error::Full(_)) => counters.refused.add(1),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        if count > 0 {
            self.keep_running();
        }
        Ok(())
    }

    /// Runs cycles, and sends what comes out.
    fn clock(&mut self) -> io::Result<()> {
        let before = self.design.cycle();
        let end = self.design.step(ROUND_CYCLES);
        self.shared.counters.cycles.add(self.design.cycle() - before);
        self.shared.counters.rounds.add(1);
        end.map_err(io::Error::other)?;
        if !self.guests.is_empty() {
            self.interrupt()?;
        }
        for port in self.design.ready() {
            self.transmit(port)?;
            self.keep_running();
        }
        Ok(())
    }

    fn transmit(&mut self, port: u32) -> io::Result<()> {
        self.bytes.clear();
        self.ranges.clear();
        while let Some(sent) = self.design.transmitted(port).map_err(io::Error::other)? {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(sent.frame);
            self.ranges.push((start, self.bytes.len()));
        }
        let counters = &self.shared.counters;
        let Some(index) = self.link_of[port as usize] else {
            counters.unconnected.add(self.ranges.len() as u64);
            return Ok(());
        };
        let sent = self.links.links[index].transmit(&mut self.sender, &self.bytes, &self.ranges);
        counters.sent.add(sent.frames);
        counters.sent_bytes.add(sent.bytes);
        counters.send_drops.add(sent.dropped);
        Ok(())
    }
}

/// Frames of a port that do not wait before the design any more.
fn processed(design: &mut Design, port: u32) -> io::Result<u64> {
    let counters = design.counters(port).map_err(io::Error::other)?;
    Ok(counters.rx_frames + counters.rx_drops)
}
