//! The switch node: ports (sockets or network interfaces) around a [`netkv_dataplane::Switch`].
//!
//! One thread moves all frames. A round receives the waiting frames of each port (up to about 64
//! each), runs them through the pipeline, and sends the output with one system call for each port.
//! The pipeline reads frames in the receive buffers, and the kernel reads the output buffer of the
//! pipeline. Batches grow with the load; without load the thread sleeps.
//!
//! The pipeline is locked while it processes a batch, not during system calls. So a program can be
//! replaced without loss: the new one gets all later frames.
//!
//! The node is the fabric, too: the link at each port can lose, duplicate, reorder and delay
//! frames, in each direction.

mod forward;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use netkv_dataplane::{DigestMessage, Switch};

use crate::backlog::{Backlog, Class};
use crate::counters::counters;
use crate::fabric::Order;
use crate::impair::{Direction, Impairment};
use crate::pipeline::Pipeline;
use crate::record::Recorder;
use crate::sys::{Link, Plug};
use crate::worker::{Worker, lock};
use forward::Loop;

/// Maximum number of waiting frames for the control plane; further ones are dropped and counted.
pub const CPU_QUEUE: usize = 4096;
/// Maximum number of waiting frames that report hot records, in a queue of lower priority.
pub const REPORT_QUEUE: usize = 1024;
/// Maximum number of frames from the control plane that wait for the loop, without
/// acknowledgements of reports.
pub const PACKET_OUT_QUEUE: usize = 16_384;
/// Maximum number of waiting digests.
pub const DIGEST_QUEUE: usize = 16_384;
/// v1model's ports have 9 bits; port 511 means drop.
const PORTS: usize = 511;

/// Number of a port, and its link.
#[derive(Debug, Clone)]
pub struct PortConfig {
    /// Port number of the data plane.
    pub port: u16,
    /// The link: a UDP socket or a network interface.
    pub plug: Plug,
}

impl PortConfig {
    /// A port that is a UDP socket, connected to one peer.
    pub fn datagrams(port: u16, bind: SocketAddrV4, peer: SocketAddrV4, trains: bool) -> Self {
        Self { port, plug: Plug::datagrams(bind, peer, trains) }
    }
}

counters! {
    /// Counts since the node was started.
    pub struct Counters {
        received, received_bytes, sent, sent_bytes, batches, malformed, unrouted, send_drops,
        packet_ins, packet_outs, digests, cpu_queue_drops, report_drops, digest_drops,
        packet_out_drops, receive_drops, cpu_ns,
        links_lost, links_duplicated, links_delayed, links_dropped, unrecorded, unsummed,
    }
}

struct Port {
    number: u16,
    link: Link,
}

/// Frames and digests that wait for the control plane.
struct Inbox {
    frames: Backlog<Vec<u8>>,
    digests: VecDeque<DigestMessage>,
    closed: bool,
}

struct Shared<P> {
    pipeline: Arc<Mutex<P>>,
    cpu_port: u16,
    counters: Counters,
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    packet_outs: Mutex<Backlog<Vec<u8>>>,
    /// Changes of the links' impairments; `ordered` is true if there are some.
    orders: Mutex<Vec<Order>>,
    ordered: AtomicBool,
    /// Seed of the links' impairments.
    seed: u64,
    /// The loop takes it at its start.
    recorder: Mutex<Option<Recorder>>,
    paused: AtomicBool,
    /// Held by the loop while it moves frames, so that `pause` can wait for the end of a round.
    at_work: Mutex<()>,
    resumed: Condvar,
}

/// A running switch.
pub type SwitchNode = Node<Switch>;

/// A running node with ports and a pipeline: see the module.
pub struct Node<P> {
    shared: Arc<Shared<P>>,
    /// Shared with the thread; `None` (and closed) once the node is stopped.
    ports: Mutex<Option<Arc<Vec<Port>>>>,
    worker: Worker,
}

impl<P: Pipeline> Node<P> {
    /// Binds all ports. Errors are sentences: a busy UDP port, or an invalid port number.
    pub fn new(pipeline: Arc<Mutex<P>>, ports: &[PortConfig], cpu_port: u16) -> io::Result<Self> {
        Self::seeded(pipeline, ports, cpu_port, 1)
    }

    /// [`Node::new`], with a seed for the impairments of links.
    pub fn seeded(
        pipeline: Arc<Mutex<P>>,
        ports: &[PortConfig],
        cpu_port: u16,
        seed: u64,
    ) -> io::Result<Self> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let mut bound: Vec<Port> = Vec::with_capacity(ports.len());
        for config in ports {
            let number = config.port;
            if usize::from(number) >= PORTS || number == cpu_port {
                return invalid(format!(
                    "switch port {number} is not possible: ports are 0 to 510, and {cpu_port} \
                     leads to the control plane"
                ));
            }
            if bound.iter().any(|port| port.number == number) {
                return invalid(format!("switch port {number} is given twice"));
            }
            let owner = format!("switch port {number}");
            let link = Link::open(&owner, &config.plug)?;
            bound.push(Port { number, link });
        }
        let shared = Shared {
            pipeline,
            cpu_port,
            counters: Counters::default(),
            inbox: Mutex::new(Inbox {
                frames: Backlog::new([CPU_QUEUE, REPORT_QUEUE, 0]),
                digests: VecDeque::new(),
                closed: false,
            }),
            arrived: Condvar::new(),
            packet_outs: Mutex::new(Backlog::new([PACKET_OUT_QUEUE, REPORT_QUEUE, 0])),
            orders: Mutex::default(),
            ordered: AtomicBool::new(false),
            seed,
            recorder: Mutex::default(),
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

    /// Records all frames that pass the ports, in files in `directory`; before the node starts.
    ///
    /// # Errors
    ///
    /// A sentence: a file cannot be created.
    pub fn record(&self, directory: &Path) -> io::Result<()> {
        let ports = lock(&self.ports).clone().unwrap_or_default();
        let recorder = Recorder::create(directory, ports.iter().map(|port| port.number))?;
        *lock(&self.shared.recorder) = Some(recorder);
        Ok(())
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

    /// Ends the thread and closes the sockets; a second call does nothing.
    pub fn stop(&self) {
        self.resume();
        let cpu = self.worker.cpu_time();
        self.worker.stop();
        if let Some(ports) = lock(&self.ports).take() {
            self.shared.counters.receive_drops.add(receive_drops(&ports));
            self.shared.counters.unsummed.add(unsummed(&ports));
            self.shared.counters.cpu_ns.add(cpu.as_nanos() as u64);
        }
    }

    /// Stops forwarding; returns at the end of the current round.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::Release);
        drop(lock(&self.shared.at_work));
    }

    /// Continues forwarding.
    pub fn resume(&self) {
        // Under the lock, so that the loop cannot miss it between its check and its wait.
        let _at_work = lock(&self.shared.at_work);
        self.shared.paused.store(false, Ordering::Release);
        self.shared.resumed.notify_all();
    }

    /// Injects a frame at the CPU port, packet_out header in front. If too many wait, the frame is
    /// dropped and counted.
    pub fn packet_out(&self, frame: Vec<u8>) {
        if lock(&self.shared.packet_outs).offer(Class::of(&frame), frame).is_err() {
            self.shared.counters.packet_out_drops.add(1);
        }
        self.worker.signals().waker.wake();
    }

    /// Replaces the impairment of the link at a port in one direction, for all later frames. May be
    /// called before the node is started.
    ///
    /// # Errors
    ///
    /// A sentence: there is no such port, or the impairment is invalid.
    pub fn impair(
        &self,
        port: u16,
        direction: Direction,
        impairment: Impairment,
    ) -> Result<(), String> {
        impairment.check().map_err(|text| format!("Switch port {port}: {text}."))?;
        let ports = lock(&self.ports).clone().unwrap_or_default();
        let Some(index) = ports.iter().position(|it| it.number == port) else {
            let numbers: Vec<String> = ports.iter().map(|it| it.number.to_string()).collect();
            let ports = numbers.join(", ");
            return Err(format!("There is no switch port {port}; the ports are: {ports}."));
        };
        lock(&self.shared.orders).push(Order { port: index, direction, impairment });
        self.shared.ordered.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits for frames to the control plane or digests. Returns none after the timeout or when the
    /// node ends. Frames that report hot records come last.
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
        let frames = std::iter::from_fn(|| inbox.frames.pop()).collect();
        (frames, inbox.digests.drain(..).collect())
    }

    /// Counts by name. "receive_drops" are frames that the kernel dropped because a receive buffer
    /// was full; "cpu_ns" is the processor time of the thread.
    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let mut counts = self.shared.counters.read();
        if let Some(ports) = &*lock(&self.ports) {
            let cpu = self.worker.cpu_time().as_nanos() as u64;
            counts.retain(|(name, _)| !["receive_drops", "unsummed", "cpu_ns"].contains(name));
            counts.extend([
                ("receive_drops", receive_drops(ports)),
                ("unsummed", unsummed(ports)),
                ("cpu_ns", cpu),
            ]);
        }
        counts
    }

    /// Why the node has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }
}

fn unsummed(ports: &[Port]) -> u64 {
    ports.iter().map(|port| port.link.unsummed()).sum()
}

fn receive_drops(ports: &[Port]) -> u64 {
    ports.iter().map(|port| port.link.receive_drops()).sum()
}
