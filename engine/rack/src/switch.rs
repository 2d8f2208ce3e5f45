//! The switch node: ports as sockets around a [`netkv_dataplane::Switch`].
//!
//! One thread moves all frames. A round takes what waits at every port that has something (up to
//! about 64 frames each), runs it through the pipeline, and sends what came out with one system
//! call a port. The pipeline reads frames where the kernel put them, and the kernel reads what
//! leaves where the pipeline put it. Under load rounds grow by themselves; idle, the thread sleeps.
//!
//! The pipeline is locked for a port's batch and not while the kernel works: a program that was
//! swapped in sees every frame that came later, and none gets lost.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use netkv_dataplane::{DigestMessage, Output, Switch};

use crate::clock;
use crate::counters::counters;
use crate::pipeline::Pipeline;
use crate::sys::{Poller, Received, Sender, Socket};
use crate::worker::{Signals, Worker, lock};

/// Frames for the control plane that wait at most; later ones are dropped and counted.
pub const CPU_QUEUE: usize = 4096;
/// Digests that wait at most.
pub const DIGEST_QUEUE: usize = 16_384;
/// v1model's ports have 9 bits; the last one drops.
const PORTS: usize = 511;
/// An Ethernet header.
const SHORTEST_FRAME: usize = 14;
/// Token of the waker in the poller; ports have their index.
const WAKER: u64 = u64::MAX;

/// Where a port is on the fabric.
#[derive(Debug, Clone, Copy)]
pub struct PortConfig {
    /// Port number of the data plane.
    pub port: u16,
    /// The socket's own address.
    pub bind: SocketAddrV4,
    /// The only address that it talks with.
    pub peer: SocketAddrV4,
    /// Whether frames of a size may cross the kernel together (see [`crate::sys`]).
    pub trains: bool,
}

counters! {
    /// What the node has seen since it was started.
    pub struct Counters {
        received, received_bytes, sent, sent_bytes, batches, malformed, unrouted, send_drops,
        packet_ins, packet_outs, digests, cpu_queue_drops, digest_drops, receive_drops, cpu_ns,
    }
}

struct Port {
    number: u16,
    socket: Socket,
}

/// What waits for the control plane.
#[derive(Default)]
struct Inbox {
    frames: VecDeque<Vec<u8>>,
    digests: VecDeque<DigestMessage>,
    closed: bool,
}

struct Shared<P> {
    pipeline: Arc<Mutex<P>>,
    cpu_port: u16,
    counters: Counters,
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    packet_outs: Mutex<Vec<Vec<u8>>>,
    paused: AtomicBool,
    /// Held by the loop while it moves frames, so that `pause` can wait for the end of a round.
    at_work: Mutex<()>,
    resumed: Condvar,
}

/// A running switch.
pub type SwitchNode = Node<Switch>;

/// Ports and a pipeline between them, running: see the module.
pub struct Node<P> {
    shared: Arc<Shared<P>>,
    /// The thread has them too; gone (and closed) once the node is stopped.
    ports: Mutex<Option<Arc<Vec<Port>>>>,
    worker: Worker,
}

impl<P: Pipeline> Node<P> {
    /// Binds all ports. Errors are sentences: a busy UDP port, or a port number that cannot be.
    pub fn new(pipeline: Arc<Mutex<P>>, ports: &[PortConfig], cpu_port: u16) -> io::Result<Self> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let mut bound: Vec<Port> = Vec::with_capacity(ports.len());
        for config in ports {
            let number = config.port;
            if usize::from(number) >= PORTS || number == cpu_port {
                return invalid(format!(
                    "switch port {number} cannot be: ports are 0 to 510, and {cpu_port} leads to \
                     the control plane"
                ));
            }
            if bound.iter().any(|port| port.number == number) {
                return invalid(format!("switch port {number} is given twice"));
            }
            let owner = format!("switch port {number}");
            let socket = Socket::open(&owner, config.bind, config.peer, config.trains)?;
            bound.push(Port { number, socket });
        }
        let shared = Shared {
            pipeline,
            cpu_port,
            counters: Counters::default(),
            inbox: Mutex::default(),
            arrived: Condvar::new(),
            packet_outs: Mutex::default(),
            paused: AtomicBool::new(false),
            at_work: Mutex::default(),
            resumed: Condvar::new(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            ports: Mutex::new(Some(Arc::new(bound))),
            worker: Worker::new()?,
        })
    }

    /// Starts forwarding.
    pub fn start(&self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let closing = Arc::clone(&self.shared);
        let ports = lock(&self.ports).clone().unwrap_or_default();
        self.worker.start(
            "switch",
            move |signals| Loop::new(&shared, &ports, signals)?.run(),
            move || {
                lock(&closing.inbox).closed = true;
                closing.arrived.notify_all();
            },
        )
    }

    /// Ends the thread and closes the sockets; nothing happens the second time.
    pub fn stop(&self) {
        self.resume();
        let cpu = self.worker.cpu_time();
        self.worker.stop();
        if let Some(ports) = lock(&self.ports).take() {
            self.shared.counters.receive_drops.add(receive_drops(&ports));
            self.shared.counters.cpu_ns.add(cpu.as_nanos() as u64);
        }
    }

    /// Stops looking at frames; returns when the round at hand is over.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::Release);
        drop(lock(&self.shared.at_work));
    }

    /// Looks at frames again.
    pub fn resume(&self) {
        // Under the lock, so that the loop cannot miss it between its look and its wait.
        let _at_work = lock(&self.shared.at_work);
        self.shared.paused.store(false, Ordering::Release);
        self.shared.resumed.notify_all();
    }

    /// Injects a frame at the CPU port, packet_out header in front.
    pub fn packet_out(&self, frame: Vec<u8>) {
        lock(&self.shared.packet_outs).push(frame);
        self.worker.signals().waker.wake();
    }

    /// Waits for frames to the control plane or digests; none if the time passes or the node ends.
    pub fn wait(&self, timeout: Duration) -> (Vec<Vec<u8>>, Vec<DigestMessage>) {
        let mut inbox = lock(&self.shared.inbox);
        let deadline = Instant::now() + timeout;
        while inbox.frames.is_empty() && inbox.digests.is_empty() && !inbox.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            inbox = match self.shared.arrived.wait_timeout(inbox, left) {
                Ok((inbox, _)) => inbox,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        (inbox.frames.drain(..).collect(), inbox.digests.drain(..).collect())
    }

    /// Counts by name; "receive_drops" are frames that the kernel dropped before the loop saw them,
    /// "cpu_ns" is the time that the thread has spent on a core.
    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.shared.counters.read();
        if let Some(ports) = &*lock(&self.ports) {
            let cpu = self.worker.cpu_time().as_nanos() as u64;
            counts.retain(|(name, _)| !["receive_drops", "cpu_ns"].contains(name));
            counts.extend([("receive_drops", receive_drops(ports)), ("cpu_ns", cpu)]);
        }
        counts
    }

    /// Why the node has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }
}

fn receive_drops(ports: &[Port]) -> u64 {
    ports.iter().map(|port| port.socket.receive_drops()).sum()
}

/// What the thread owns.
struct Loop<'a, P> {
    shared: &'a Shared<P>,
    ports: &'a [Port],
    signals: &'a Signals,
    poller: Poller,
    ready: Vec<u64>,
    received: Received,
    output: Output,
    sender: Sender,
    /// For each port, where the frames that leave there are in `output`.
    leaving: Vec<Vec<(usize, usize)>>,
    /// Index of a port number in `ports`.
    index: [Option<usize>; PORTS],
    /// For the control plane, in this round.
    packet_ins: Vec<Vec<u8>>,
    digests: Vec<DigestMessage>,
}

impl<'a, P: Pipeline> Loop<'a, P> {
    fn new(shared: &'a Shared<P>, ports: &'a [Port], signals: &'a Signals) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        let mut index = [None; PORTS];
        for (i, port) in ports.iter().enumerate() {
            poller.watch(&port.socket, i as u64)?;
            index[usize::from(port.number)] = Some(i);
        }
        Ok(Self {
            shared,
            ports,
            signals,
            poller,
            ready: Vec::new(),
            received: Received::default(),
            output: Output::new(),
            sender: Sender::default(),
            leaving: vec![Vec::new(); ports.len()],
            index,
            packet_ins: Vec::new(),
            digests: Vec::new(),
        })
    }

    fn run(mut self) -> io::Result<()> {
        loop {
            self.ready.clear();
            self.ready.extend(self.poller.wait(None)?);
            let mut at_work = lock(&self.shared.at_work);
            while self.shared.paused.load(Ordering::Acquire) {
                at_work = match self.shared.resumed.wait(at_work) {
                    Ok(guard) => guard,
                    Err(poisoned) => poisoned.into_inner(),
                };
            }
            if self.signals.stopping() {
                return Ok(());
            }
            self.round()?;
        }
    }

    /// Moves what is there now.
    fn round(&mut self) -> io::Result<()> {
        for at in 0..self.ready.len() {
            match self.ready[at] {
                WAKER => self.packet_outs(),
                index => self.port_batch(index as usize)?,
            }
        }
        self.shared.counters.batches.add(1);
        self.distribute();
        self.send();
        self.output.clear();
        self.deliver();
        Ok(())
    }

    fn packet_outs(&mut self) {
        self.signals.waker.clear();
        let frames = std::mem::take(&mut *lock(&self.shared.packet_outs));
        self.shared.counters.packet_outs.add(frames.len() as u64);
        let frames = frames.iter().map(Vec::as_slice);
        let mut pipeline = lock(&self.shared.pipeline);
        pipeline.batch(clock::now(), self.shared.cpu_port, frames, &mut self.output);
        self.digests.append(&mut pipeline.take_digests());
    }

    fn port_batch(&mut self, index: usize) -> io::Result<()> {
        let port = &self.ports[index];
        let received = self.received.fill(&port.socket)?;
        let (mut bytes, mut malformed) = (0, 0);
        let frames = self.received.frames().filter_map(|frame| {
            let whole = frame.filter(|frame| frame.len() >= SHORTEST_FRAME);
            match whole {
                Some(frame) => bytes += frame.len() as u64,
                None => malformed += 1,
            }
            whole
        });
        let mut pipeline = lock(&self.shared.pipeline);
        pipeline.batch(clock::now(), port.number, frames, &mut self.output);
        self.digests.append(&mut pipeline.take_digests());
        drop(pipeline);
        let counters = &self.shared.counters;
        counters.received.add(received as u64);
        counters.received_bytes.add(bytes);
        counters.malformed.add(malformed);
        Ok(())
    }

    /// Sorts what left the pipeline by the socket it is for, or the control plane.
    fn distribute(&mut self) {
        let mut unrouted = 0;
        for (number, (start, end)) in self.output.ranges() {
            if number == self.shared.cpu_port {
                self.packet_ins.push(self.output.bytes()[start..end].to_vec());
            } else if let Some(&Some(index)) = self.index.get(usize::from(number)) {
                self.leaving[index].push((start, end));
            } else {
                unrouted += 1;
            }
        }
        self.shared.counters.unrouted.add(unrouted);
    }

    fn send(&mut self) {
        let counters = &self.shared.counters;
        for (port, leaving) in self.ports.iter().zip(&mut self.leaving) {
            if !leaving.is_empty() {
                let sent = self.sender.send(&port.socket, self.output.bytes(), leaving);
                leaving.clear();
                counters.sent.add(sent.frames);
                counters.sent_bytes.add(sent.bytes);
                counters.send_drops.add(sent.dropped);
            }
        }
    }

    /// Hands packets and digests of the round to whoever calls [`SwitchNode::wait`].
    fn deliver(&mut self) {
        if self.packet_ins.is_empty() && self.digests.is_empty() {
            return;
        }
        let counters = &self.shared.counters;
        counters.packet_ins.add(self.packet_ins.len() as u64);
        counters.digests.add(self.digests.len() as u64);
        let mut inbox = lock(&self.shared.inbox);
        for frame in self.packet_ins.drain(..) {
            if inbox.frames.len() < CPU_QUEUE {
                inbox.frames.push_back(frame);
            } else {
                counters.cpu_queue_drops.add(1);
            }
        }
        for digest in self.digests.drain(..) {
            if inbox.digests.len() < DIGEST_QUEUE {
                inbox.digests.push_back(digest);
            } else {
                counters.digest_drops.add(1);
            }
        }
        drop(inbox);
        self.shared.arrived.notify_all();
    }
}
