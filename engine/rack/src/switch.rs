//! The switch node: ports as sockets around a [`netkv_dataplane::Switch`].
//!
//! One thread moves all frames. A round takes what waits at every port that has something (up to
//! 64 frames each), runs it under one lock of the switch, and sends what came out with one
//! system call a port. Under load rounds grow by themselves; idle, the thread sleeps.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use netkv_dataplane::{DigestMessage, Output, Switch};

use crate::clock;
use crate::counters::counters;
use crate::sys::{Outgoing, Poller, Received, Socket};
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
}

counters! {
    /// What the node has seen since it was started.
    pub struct Counters {
        received, received_bytes, sent, sent_bytes, batches, malformed, unrouted, send_drops,
        packet_ins, packet_outs, digests, cpu_queue_drops, digest_drops, receive_drops,
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

struct Shared {
    switch: Arc<Mutex<Switch>>,
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

/// A running switch: see the module.
pub struct SwitchNode {
    shared: Arc<Shared>,
    /// The thread has them too; gone (and closed) once the node is stopped.
    ports: Mutex<Option<Arc<Vec<Port>>>>,
    worker: Worker,
}

impl SwitchNode {
    /// Binds all ports. Errors are sentences: a busy UDP port, or a port number that cannot be.
    pub fn new(
        switch: Arc<Mutex<Switch>>,
        ports: &[PortConfig],
        cpu_port: u16,
    ) -> io::Result<Self> {
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
            let socket = Socket::open(&format!("switch port {number}"), config.bind, config.peer)?;
            bound.push(Port { number, socket });
        }
        let shared = Shared {
            switch,
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
        self.worker.stop();
        if let Some(ports) = lock(&self.ports).take() {
            self.shared.counters.receive_drops.add(receive_drops(&ports));
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

    /// Counts by name; "receive_drops" are frames that the kernel dropped before the loop saw them.
    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.shared.counters.read();
        if let Some(ports) = &*lock(&self.ports) {
            counts.retain(|(name, _)| *name != "receive_drops");
            counts.push(("receive_drops", receive_drops(ports)));
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
struct Loop<'a> {
    shared: &'a Shared,
    ports: &'a [Port],
    signals: &'a Signals,
    poller: Poller,
    ready: Vec<u64>,
    received: Received,
    output: Output,
    outgoing: Vec<Outgoing>,
    /// Index of a port number in `ports`.
    index: [Option<usize>; PORTS],
    /// For the control plane, in this round.
    packet_ins: Vec<Vec<u8>>,
}

impl<'a> Loop<'a> {
    fn new(shared: &'a Shared, ports: &'a [Port], signals: &'a Signals) -> io::Result<Self> {
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
            outgoing: ports.iter().map(|_| Outgoing::default()).collect(),
            index,
            packet_ins: Vec::new(),
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
        let shared = self.shared;
        let now = clock::now();
        let mut switch = lock(&shared.switch);
        for token in std::mem::take(&mut self.ready) {
            if token == WAKER {
                self.signals.waker.clear();
                for frame in std::mem::take(&mut *lock(&shared.packet_outs)) {
                    shared.counters.packet_outs.add(1);
                    switch.process(now, shared.cpu_port, &frame, &mut self.output);
                }
            } else {
                self.port_batch(now, token as usize, &mut switch)?;
            }
            self.distribute();
        }
        let digests = switch.take_digests();
        drop(switch);
        shared.counters.batches.add(1);
        for (port, outgoing) in self.ports.iter().zip(&mut self.outgoing) {
            if !outgoing.is_empty() {
                let sent = outgoing.flush(&port.socket);
                shared.counters.sent.add(sent.frames);
                shared.counters.sent_bytes.add(sent.bytes);
                shared.counters.send_drops.add(sent.dropped);
            }
        }
        self.deliver(digests);
        Ok(())
    }

    fn port_batch(&mut self, now: u64, index: usize, switch: &mut Switch) -> io::Result<()> {
        let port = &self.ports[index];
        let counters = &self.shared.counters;
        counters.received.add(self.received.fill(&port.socket)? as u64);
        let (mut bytes, mut malformed) = (0, 0);
        for frame in self.received.frames() {
            match frame {
                Some(frame) if frame.len() >= SHORTEST_FRAME => {
                    bytes += frame.len() as u64;
                    switch.process(now, port.number, frame, &mut self.output);
                }
                _ => malformed += 1,
            }
        }
        counters.received_bytes.add(bytes);
        counters.malformed.add(malformed);
        Ok(())
    }

    /// Puts what left the pipeline to the sockets and the control plane it is for.
    fn distribute(&mut self) {
        let mut unrouted = 0;
        for (number, frame) in self.output.frames() {
            if number == self.shared.cpu_port {
                self.packet_ins.push(frame.to_vec());
            } else if let Some(&Some(index)) = self.index.get(usize::from(number)) {
                self.outgoing[index].push(frame);
            } else {
                unrouted += 1;
            }
        }
        self.shared.counters.unrouted.add(unrouted);
        self.output.clear();
    }

    /// Hands packets and digests of the round to whoever calls [`SwitchNode::wait`].
    fn deliver(&mut self, digests: Vec<DigestMessage>) {
        if self.packet_ins.is_empty() && digests.is_empty() {
            return;
        }
        let counters = &self.shared.counters;
        counters.packet_ins.add(self.packet_ins.len() as u64);
        counters.digests.add(digests.len() as u64);
        let mut inbox = lock(&self.shared.inbox);
        for frame in self.packet_ins.drain(..) {
            if inbox.frames.len() < CPU_QUEUE {
                inbox.frames.push_back(frame);
            } else {
                counters.cpu_queue_drops.add(1);
            }
        }
        for digest in digests {
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
