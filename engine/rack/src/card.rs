//! The live driver of an FPGA design: wall clock and sockets.
//!
//! Each port is a UDP socket, a TAP device or a network interface ([`crate::sys::Link`]). One
//! thread moves frames and runs the clock of the design.
//!
//! Rules
//! 1. The clock runs while a frame is queued or moves, and for [`LiveConfig::idle_cycles`] after
//!    the last one. Then the thread waits for frames. So a cycle has no fixed length in wall time,
//!    but a shortest one if there is a [`LiveConfig::max_hz`]: times that a design counts in cycles
//!    are then never shorter than meant.
//! 2. A port with [`BACKLOG`] frames before the design reads no more from its link: the kernel's
//!    buffer fills, and then drops.
//! 3. Calls of the owner ([`LiveDesign::with`]) run on the thread between two rounds.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use netkv_fpga::{Design, Error};

use crate::counters;
use crate::sys::{Link, Plug, Poller, Received, Sender};
use crate::worker::{Signals, Worker, lock};

/// Frames that wait before the design at most, for each port.
pub const BACKLOG: u64 = 256;
/// Cycles of a round: some tens of microseconds.
const ROUND_CYCLES: u64 = 256;
/// Bytes of an Ethernet header.
const MIN_FRAME: usize = 14;
/// Token of the waker in the poller; ports have their index.
const WAKER: u64 = u64::MAX;

/// The configuration of a live design.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveConfig {
    /// Ports of the design, and their links. A port without a link receives nothing, and loses the
    /// frames that the design sends there.
    pub ports: Vec<(u32, Plug)>,
    /// Cycles that run after the last frame, for the design to complete its work.
    pub idle_cycles: u64,
    /// Cycles a second at most.
    pub max_hz: Option<f64>,
}

counters! {
    /// Counts since the start.
    pub struct Counters {
        received, received_bytes, sent, sent_bytes, malformed, refused, send_drops, unconnected,
        rounds, cycles, receive_drops, cpu_ns,
    }
}

type Job = Box<dyn FnOnce(&mut Design) + Send>;

struct Shared {
    counters: Counters,
    /// The design while the thread does not run: before the start, and after the end.
    design: Mutex<Option<Design>>,
    /// Calls that wait for the thread; `None` while it does not run.
    jobs: Mutex<Option<VecDeque<Job>>>,
}

/// A design that runs live.
pub struct LiveDesign {
    shared: Arc<Shared>,
    /// `None` (and closed) once the design is stopped.
    links: Mutex<Option<Arc<Vec<Link>>>>,
    config: LiveConfig,
    worker: Worker,
}

impl LiveDesign {
    /// Opens the links. Errors are sentences: a link cannot be used, or there is no such port.
    pub fn new(design: Design, config: LiveConfig) -> io::Result<Self> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let mut links = Vec::with_capacity(config.ports.len());
        for (at, (port, plug)) in config.ports.iter().enumerate() {
            if *port >= design.ports() {
                let last = design.ports() - 1;
                return invalid(format!("There is no port {port}; the ports are 0 to {last}."));
            }
            if config.ports[..at].iter().any(|(other, _)| other == port) {
                return invalid(format!("Port {port} is given twice."));
            }
            links.push(Link::open(&format!("port {port}"), plug)?);
        }
        let shared = Shared {
            counters: Counters::default(),
            design: Mutex::new(Some(design)),
            jobs: Mutex::new(None),
        };
        Ok(Self {
            shared: Arc::new(shared),
            links: Mutex::new(Some(Arc::new(links))),
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
        let mut jobs = lock(&self.shared.jobs);
        let started = self.worker.start(
            "design",
            move |signals| {
                let Some(design) = lock(&shared.design).take() else { return Ok(()) };
                let mut clock = Loop::new(&shared, &links, &config, signals, design)?;
                let end = clock.run();
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

fn receive_drops(links: &[Link]) -> u64 {
    links.iter().map(Link::receive_drops).sum()
}

/// The state of the thread.
struct Loop<'a> {
    shared: &'a Shared,
    links: &'a [Link],
    config: &'a LiveConfig,
    signals: &'a Signals,
    design: Design,
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
        links: &'a [Link],
        config: &'a LiveConfig,
        signals: &'a Signals,
        mut design: Design,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        let mut link_of = vec![None; design.ports() as usize];
        let mut queued = Vec::new();
        for (index, (link, (port, _))) in links.iter().zip(&config.ports).enumerate() {
            poller.watch(link, index as u64)?;
            link_of[*port as usize] = Some(index);
            queued.push(processed(&mut design, *port)?);
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
        loop {
            let limit = self.is_busy().then(|| self.delay());
            self.ready.clear();
            self.ready.extend(self.poller.wait(limit)?);
            if self.signals.stopping() {
                return Ok(());
            }
            for at in 0..self.ready.len() {
                match self.ready[at] {
                    WAKER => self.serve(),
                    index => self.receive(index as usize)?,
                }
            }
            if self.is_busy() && self.delay().is_zero() {
                self.clock()?;
            }
        }
    }

    fn delay(&mut self) -> Duration {
        let cycle = self.design.cycle();
        self.pace.as_mut().map_or(Duration::ZERO, |pace| pace.delay(cycle))
    }

    fn is_busy(&self) -> bool {
        self.design.pending_rx() > 0 || self.design.cycle() < self.run_until
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

    /// Queues the frames that wait at a link.
    fn receive(&mut self, index: usize) -> io::Result<()> {
        let port = self.config.ports[index].0;
        if self.queued[index] - processed(&mut self.design, port)? >= BACKLOG {
            return Ok(());
        }
        let counters = &self.shared.counters;
        let count = self.received.fill(&self.links[index])?;
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
        let sent = self.sender.send(&self.links[index], &self.bytes, &self.ranges);
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
