//! The switch node: ports (sockets or network interfaces) around a
//! [`netkv_dataplane::SharedSwitch`].
//!
//! Each pipeline of the switch has a thread that moves all frames of its ports. A round receives
//! the waiting frames of each port (up to about 64 each), runs them through the pipeline, and sends
//! the output with one system call for each port. The pipeline reads frames in the receive buffers,
//! and the kernel reads the output buffer of the pipeline. Batches grow with the load; without load
//! the thread sleeps.
//!
//! A packet that leaves by a port of another pipeline is handed over after ingress, through a
//! bounded queue ([`CrossingQueues`]); the thread of that pipeline runs egress and sends it.
//!
//! A pipeline is locked while it processes a batch, not during system calls. So a program can be
//! replaced without loss: the new one gets all later frames. Only packets between two pipelines are
//! then dropped, and counted.
//!
//! The node impairs links, too: that at each port can lose, duplicate, corrupt, reorder and delay
//! frames, in each direction.

mod capture;
mod forward;
mod shared;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use netkv_dataplane::{CrossingQueues, DigestMessage, SharedSwitch, pipeline_of};

use crate::backlog::{Backlog, Class};
use crate::impair::{Direction, Impairment};
use crate::impaired_links::Change;
use crate::lock::lock;
use crate::pipeline::Pipelines;
use crate::record::Recorder;
use crate::sys::{Link, Plug};
use crate::worker::Worker;
pub use capture::Captured;
use forward::Loop;
pub use shared::{
    CPU_QUEUE, Counters, Counts, DIGEST_QUEUE, PACKET_OUT_QUEUE, PortCounters, REPORT_QUEUE,
};
use shared::{Inbox, Lane, PORTS, Port, Shared};

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

/// The ports of each pipeline.
type Ports = Arc<Vec<Vec<Port>>>;

/// A running switch.
pub type SwitchNode = Node<SharedSwitch>;

/// A running node with ports and pipelines: see the module.
pub struct Node<P> {
    shared: Arc<Shared<P>>,
    /// Shared with the threads; `None` (and closed) once the node is stopped.
    ports: Mutex<Option<Ports>>,
    /// For each pipeline.
    workers: Vec<Worker>,
}

impl<P> Node<P> {
    /// Asks the threads to end. A paused one does not see that, so it is resumed then.
    fn request_stop(&self) {
        for worker in &self.workers {
            worker.request_stop();
        }
        self.resume();
    }

    /// Continues forwarding.
    pub fn resume(&self) {
        self.shared.paused.store(false, Ordering::Release);
        for lane in &self.shared.lanes {
            // Under the lock, so that the loop cannot miss it between its check and its wait.
            let _at_work = lock(&lane.at_work);
            lane.resumed.notify_all();
        }
    }
}

impl<P> Drop for Node<P> {
    /// Workers end their threads when they are dropped.
    fn drop(&mut self) {
        self.request_stop();
    }
}

impl<P: Pipelines> Node<P> {
    /// Binds all ports. Errors are sentences: a busy UDP port, or an invalid port number.
    pub fn new(pipelines: Arc<P>, ports: &[PortConfig], cpu_port: u16) -> io::Result<Self> {
        Self::seeded(pipelines, ports, cpu_port, 1)
    }

    /// [`Node::new`], with a seed for the impairments of links.
    pub fn seeded(
        pipelines: Arc<P>,
        ports: &[PortConfig],
        cpu_port: u16,
        seed: u64,
    ) -> io::Result<Self> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let crossings = CrossingQueues::new(pipelines.in_flight());
        let count = crossings.pipelines();
        let mut bound: Vec<Vec<Port>> = (0..count).map(|_| Vec::new()).collect();
        for config in ports {
            let number = config.port;
            if usize::from(number) >= PORTS || number == cpu_port {
                return invalid(format!(
                    "switch port {number} is not possible: ports are 0 to 510, and {cpu_port} \
                     leads to the control plane"
                ));
            }
            let own = &mut bound[pipeline_of(number, count)];
            if own.iter().any(|port| port.number == number) {
                return invalid(format!("switch port {number} is given twice"));
            }
            let owner = format!("switch port {number}");
            let link = Link::open(&owner, &config.plug)?;
            own.push(Port { number, link, counters: PortCounters::default() });
        }
        let workers = (0..count).map(|_| Worker::new()).collect::<io::Result<Vec<_>>>()?;
        let shared = Shared {
            pipelines,
            crossings,
            cpu_port,
            inbox: Mutex::new(Inbox {
                frames: Backlog::new([CPU_QUEUE, REPORT_QUEUE, 0]),
                digests: VecDeque::new(),
                closed: false,
            }),
            arrived: Condvar::new(),
            packet_outs: Mutex::new(Backlog::new([PACKET_OUT_QUEUE, REPORT_QUEUE, 0])),
            seed,
            paused: AtomicBool::new(false),
            lanes: workers.iter().map(|worker| Lane::new(worker.signals())).collect(),
        };
        Ok(Self { shared: Arc::new(shared), ports: Mutex::new(Some(Arc::new(bound))), workers })
    }

    fn bound(&self) -> Ports {
        lock(&self.ports).clone().unwrap_or_else(|| Arc::new(Vec::new()))
    }

    /// The pipeline of the CPU port.
    fn cpu_lane(&self) -> &Lane {
        &self.shared.lanes[pipeline_of(self.shared.cpu_port, self.workers.len())]
    }

    /// Records all frames that pass the ports, in files in `directory`; before the node starts.
    ///
    /// # Errors
    ///
    /// A sentence: a file cannot be created.
    pub fn record(&self, directory: &Path) -> io::Result<()> {
        for (lane, ports) in self.shared.lanes.iter().zip(&*self.bound()) {
            let recorder = Recorder::create(directory, ports.iter().map(|port| port.number))?;
            *lock(&lane.recorder) = Some(recorder);
        }
        Ok(())
    }

    /// Keeps the next frames that arrive at the ports of each pipeline, up to a number for each.
    pub fn capture(&self, limit: usize) {
        for lane in &self.shared.lanes {
            lane.capture.begin(limit);
        }
    }

    /// How many frames are kept so far.
    pub fn captured(&self) -> usize {
        self.shared.lanes.iter().map(|lane| lane.capture.count()).sum()
    }

    /// Ends `capture`: the frames, with the ports at which they arrived.
    pub fn end_capture(&self) -> Captured {
        self.shared.lanes.iter().flat_map(|lane| lane.capture.end()).collect()
    }

    /// Starts forwarding.
    pub fn start(&self) -> io::Result<()> {
        let ports = self.bound();
        for (pipeline, worker) in self.workers.iter().enumerate() {
            let shared = Arc::clone(&self.shared);
            let closing = Arc::clone(&self.shared);
            let ports = Arc::clone(&ports);
            let name = match self.workers.len() {
                1 => "switch".to_owned(),
                _ => format!("switch thread {pipeline}"),
            };
            worker.start(
                &name,
                move |signals| Loop::new(&shared, &ports[pipeline], pipeline, signals)?.run(),
                move || closing.close(),
            )?;
        }
        Ok(())
    }

    /// Ends the threads and closes the sockets; a second call does nothing.
    pub fn stop(&self) {
        let cpu: Vec<Duration> = self.workers.iter().map(Worker::cpu_time).collect();
        self.request_stop();
        for worker in &self.workers {
            worker.stop();
        }
        if let Some(ports) = lock(&self.ports).take() {
            for ((lane, ports), cpu) in self.shared.lanes.iter().zip(&*ports).zip(cpu) {
                lane.last.get_or_init(|| counts_of(ports, cpu));
            }
        }
    }

    /// Stops forwarding; returns at the end of the current round of each pipeline. Packets between
    /// two pipelines are lost, so that none of them is older than a write that is confirmed
    /// meanwhile.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::Release);
        let lanes = self.shared.lanes.iter();
        let _at_rest: Vec<_> = lanes.map(|lane| lock(&lane.at_work)).collect();
        let lost = self.shared.crossings.discard();
        self.cpu_lane().counters.crossing_losses.add(lost as u64);
    }

    /// Injects a frame at the CPU port, packet_out header in front. If too many wait, the frame is
    /// dropped and counted.
    pub fn packet_out(&self, frame: Vec<u8>) {
        if lock(&self.shared.packet_outs).offer(Class::of(&frame), frame).is_err() {
            self.cpu_lane().counters.packet_out_drops.add(1);
        }
        self.cpu_lane().signals.waker.wake();
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
        let ports = self.bound();
        for (lane, ports) in self.shared.lanes.iter().zip(&*ports) {
            if let Some(index) = ports.iter().position(|it| it.number == port) {
                lock(&lane.changes).push(Change { port: index, direction, impairment });
                lane.changed.store(true, Ordering::Release);
                return Ok(());
            }
        }
        let mut numbers: Vec<u16> = ports.iter().flatten().map(|it| it.number).collect();
        numbers.sort_unstable();
        let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
        let ports = numbers.join(", ");
        Err(format!("There is no switch port {port}; the ports are: {ports}."))
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

    /// Counts by name, as sums over the pipelines. "receive_drops" are frames that the kernel
    /// dropped because a receive buffer was full; "cpu_ns" is the processor time of the threads.
    pub fn statistics(&self) -> Counts {
        let mut lanes = self.pipeline_statistics().into_iter();
        let mut sums = lanes.next().unwrap_or_default();
        for lane in lanes {
            add(&mut sums, lane);
        }
        sums
    }

    /// The counts of each port, with its number; none once the node is stopped.
    pub fn port_statistics(&self) -> Vec<(u16, Counts)> {
        self.bound().iter().flatten().map(|port| (port.number, port.counters.read())).collect()
    }

    /// The counts of each pipeline.
    pub fn pipeline_statistics(&self) -> Vec<Counts> {
        let ports = lock(&self.ports);
        let lanes = self.shared.lanes.iter().zip(&self.workers).enumerate();
        lanes
            .map(|(pipeline, (lane, worker))| {
                let mut counts = match &*ports {
                    Some(ports) => counts_of(&ports[pipeline], worker.cpu_time()),
                    None => lane.last.get().cloned().unwrap_or_default(),
                };
                counts.extend(lane.counters.read());
                counts
            })
            .collect()
    }

    /// The kernel's id of the thread of each pipeline, e.g. to choose its core; none until all run.
    pub fn threads(&self) -> Vec<u32> {
        self.workers.iter().map(Worker::id).collect::<Option<_>>().unwrap_or_default()
    }

    /// Why the node has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.workers.iter().find_map(|worker| worker.signals().failure())
    }
}

/// The counts that the ports of a pipeline and its thread have.
fn counts_of(ports: &[Port], cpu: Duration) -> Counts {
    let mut counts = PortCounters::default().read();
    for port in ports {
        add(&mut counts, port.counters.read());
    }
    counts.extend([
        ("receive_drops", ports.iter().map(|port| port.link.receive_drops()).sum()),
        ("unsummed", ports.iter().map(|port| port.link.unsummed()).sum()),
        ("cpu_ns", cpu.as_nanos() as u64),
    ]);
    counts
}

/// Adds counts with the same names in the same order.
fn add(sums: &mut [(&'static str, u64)], counts: Counts) {
    for ((_, sum), (_, count)) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}
