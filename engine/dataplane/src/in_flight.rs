//! Counts packets between the ingress of a pipeline and the egress of another one, so that the
//! control plane can wait for them.
//!
//! On one thread, a packet leaves the switch before anything else happens. A control plane may rely
//! on that: once a write is confirmed, no packet that passed ingress before it is still on its way.
//! With threads, such packets may wait in a queue. [`InFlight::settle`] waits until they and all
//! packets that they cause have been processed.
//!
//! Rules:
//!
//! 1. A packet that is handed over belongs to the current epoch; if another handed-over packet
//!    caused it, to the epoch of that one.
//! 2. It is counted while its pipeline is locked, so before a later write of that pipeline, and
//!    before the packet that caused it is done.
//! 3. `settle` begins an epoch, and waits for all packets of the one before. Packets of the new
//!    epoch do not delay it. Only the last two epochs have packets, so two counts are enough.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at the counts.
const LOOK: Duration = Duration::from_micros(20);
/// Maximum time to wait for packets. It takes that long only if a thread has failed, whose packets
/// are never done.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The packets between the pipelines of a switch.
pub struct InFlight {
    /// Each pipeline counts for itself, so that threads do not share memory that they write.
    pipelines: Vec<Counts>,
    epoch: Epoch,
    settling: Mutex<()>,
}

/// Packets of even and odd epochs. It is aligned to two cache lines, which processors load
/// together.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    /// Packets that the pipeline has handed over.
    begun: [AtomicU64; 2],
    /// Packets of any pipeline that this one has processed or dropped.
    done: [AtomicU64; 2],
}

#[derive(Default)]
#[repr(align(128))]
struct Epoch(AtomicU64);

fn side(epoch: u64) -> usize {
    (epoch & 1) as usize
}

impl InFlight {
    /// No packets between `pipelines` pipelines.
    pub fn new(pipelines: usize) -> Self {
        Self {
            pipelines: (0..pipelines).map(|_| Counts::default()).collect(),
            epoch: Epoch::default(),
            settling: Mutex::default(),
        }
    }

    /// Number of pipelines.
    pub fn pipelines(&self) -> usize {
        self.pipelines.len()
    }

    /// A pipeline hands over a packet, which was caused by one of epoch `cause`. Returns its epoch.
    pub(crate) fn begin(&self, pipeline: usize, cause: Option<u64>) -> u64 {
        let epoch = cause.unwrap_or_else(|| self.epoch.0.load(SeqCst));
        self.pipelines[pipeline].begun[side(epoch)].fetch_add(1, SeqCst);
        epoch
    }

    /// A pipeline has processed or dropped a packet of an epoch, and all that it caused is counted.
    pub(crate) fn finish(&self, pipeline: usize, epoch: u64) {
        self.pipelines[pipeline].done[side(epoch)].fetch_add(1, SeqCst);
    }

    /// True if there is no packet of epochs like this one.
    fn is_quiet(&self, epoch: u64) -> bool {
        let sum = |count: fn(&Counts) -> &[AtomicU64; 2]| -> u64 {
            self.pipelines.iter().map(|each| count(each)[side(epoch)].load(SeqCst)).sum()
        };
        // In this order: a packet is never done before it is counted.
        let done = sum(|counts| &counts.done);
        done == sum(|counts| &counts.begun)
    }

    /// Waits until all packets have been processed that were handed over before the call, and all
    /// that they cause. The caller has no lock of a pipeline.
    pub fn settle(&self) {
        if self.pipelines.len() == 1 {
            return;
        }
        let _one_at_a_time = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.epoch.0.load(SeqCst);
        // A thread that read the epoch just before it changed may have handed over a packet late.
        self.wait_for(before + 1);
        self.epoch.0.store(before + 1, SeqCst);
        self.wait_for(before);
    }

    fn wait_for(&self, epoch: u64) {
        let end = Instant::now() + MAX_WAIT;
        while !self.is_quiet(epoch) && Instant::now() < end {
            thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};

    #[test]
    fn settling_waits_for_a_packet_and_all_that_it_causes() {
        let flights = InFlight::new(2);
        flights.settle();
        let first = flights.begin(0, None);
        thread::scope(|scope| {
            let (sender, settled) = channel();
            let flights = &flights;
            scope.spawn(move || {
                flights.settle();
                sender.send(()).unwrap();
            });
            let waits = || settled.recv_timeout(Duration::from_millis(30));
            assert_eq!(waits(), Err(RecvTimeoutError::Timeout));
            // Packets of the new epoch do not matter.
            let later = flights.begin(1, None);
            assert_ne!(later, first);
            let caused = flights.begin(1, Some(first));
            assert_eq!(caused, first);
            flights.finish(1, first);
            assert_eq!(waits(), Err(RecvTimeoutError::Timeout), "the second packet is on its way");
            flights.finish(0, caused);
            settled.recv().unwrap();
            flights.finish(0, later);
        });
        flights.settle();
    }

    #[test]
    fn settling_waits_for_a_packet_of_an_earlier_epoch() {
        let flights = InFlight::new(2);
        // The thread has read the epoch, and counts its packet after the epoch has changed.
        let old = flights.epoch.0.load(SeqCst);
        flights.settle();
        flights.begin(0, Some(old));
        thread::scope(|scope| {
            let settling = scope.spawn(|| flights.settle());
            thread::sleep(Duration::from_millis(30));
            assert!(!settling.is_finished());
            flights.finish(1, old);
        });
    }
}
