//! What the threads of a switch node and its owner share.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use netkv_dataplane::{CrossingQueues, DigestMessage};

use super::capture::Capture;
use crate::backlog::Backlog;
use crate::counters::counters;
use crate::impaired_links::Change;
use crate::lock::lock;
use crate::record::Recorder;
use crate::sys::Link;
use crate::worker::Signals;

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
pub const PORTS: usize = 511;

/// Counts by name.
pub type Counts = Vec<(&'static str, u64)>;

counters! {
    /// Counts of a pipeline since the node was started; its ports have others.
    pub struct Counters {
        batches, malformed, unrouted, send_drops,
        packet_ins, packet_outs, digests, cpu_queue_drops, report_drops, digest_drops,
        packet_out_drops, links_lost, links_duplicated, links_corrupted, links_delayed,
        links_dropped, unrecorded,
        crossings, crossing_drops, crossing_losses,
    }
}

counters! {
    /// Counts of a port since the node was started.
    pub struct PortCounters { received, received_bytes, sent, sent_bytes }
}

pub struct Port {
    pub number: u16,
    pub link: Link,
    pub counters: PortCounters,
}

/// Frames and digests that wait for the control plane.
pub struct Inbox {
    pub frames: Backlog<Vec<u8>>,
    pub digests: VecDeque<DigestMessage>,
    pub closed: bool,
}

pub struct Shared<P> {
    pub pipelines: Arc<P>,
    pub crossings: CrossingQueues,
    pub cpu_port: u16,
    pub inbox: Mutex<Inbox>,
    pub arrived: Condvar,
    pub packet_outs: Mutex<Backlog<Vec<u8>>>,
    /// Seed of the links' impairments.
    pub seed: u64,
    pub paused: AtomicBool,
    /// For each pipeline.
    pub lanes: Vec<Lane>,
}

/// What the thread of a pipeline shares with the owner of the node. It is aligned to two cache
/// lines, which processors load together.
#[repr(align(128))]
pub struct Lane {
    pub counters: Counters,
    /// The counts of the ports and the thread, once the node is stopped.
    pub last: OnceLock<Counts>,
    /// Changes of the links' impairments; `changed` is true if there are some.
    pub changes: Mutex<Vec<Change>>,
    pub changed: AtomicBool,
    /// The loop takes it at its start.
    pub recorder: Mutex<Option<Recorder>>,
    pub capture: Capture,
    /// Held by the loop while it moves frames, so that `pause` can wait for the end of a round.
    pub at_work: Mutex<()>,
    pub resumed: Condvar,
    pub signals: Arc<Signals>,
}

impl Lane {
    pub fn new(signals: &Arc<Signals>) -> Self {
        Self {
            counters: Counters::default(),
            last: OnceLock::new(),
            changes: Mutex::default(),
            changed: AtomicBool::new(false),
            recorder: Mutex::default(),
            capture: Capture::default(),
            at_work: Mutex::default(),
            resumed: Condvar::new(),
            signals: Arc::clone(signals),
        }
    }
}

impl<P> Shared<P> {
    /// A thread has ended: ends the others and all waits.
    pub fn close(&self) {
        self.crossings.close();
        lock(&self.inbox).closed = true;
        self.arrived.notify_all();
        for lane in &self.lanes {
            lane.signals.request_stop();
        }
    }
}
