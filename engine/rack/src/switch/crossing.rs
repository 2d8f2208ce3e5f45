//! The queues between the pipelines of a switch node, each of which has a thread of its own.
//!
//! There is one for each ordered pair of pipelines, so packets from one port to another keep their
//! order. Nobody waits for room: packets that find a queue full are dropped and counted, as in the
//! traffic manager of a switch. So pipelines that send packets to each other cannot block each
//! other.
//!
//! Memory of packets goes back through the same queue, so that no pipeline allocates packets for
//! ever and no other one collects them.
#![allow(clippy::vec_box)] // a packet is large, and boxes are cheap to move

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use netkv_dataplane::Packet;

use crate::worker::lock;

/// Maximum number of packets that wait between two pipelines; further ones are dropped and counted.
pub const CROSSING_QUEUE: usize = 4096;

/// The queues of a node.
pub struct Crossings {
    /// Number of pipelines.
    count: usize,
    /// By sender, then by receiver.
    queues: Vec<Queue>,
    /// For each pipeline.
    receivers: Vec<Receiver>,
}

/// Aligned to two cache lines, which processors load together.
#[repr(align(128))]
#[derive(Default)]
struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    packets: Vec<Box<Packet>>,
    /// Packets that the receiver has processed, for reuse by the sender.
    spare: Vec<Box<Packet>>,
}

#[repr(align(128))]
#[derive(Default)]
struct Receiver {
    /// The thread is about to sleep and has to be woken.
    sleeps: AtomicBool,
}

impl Crossings {
    /// Empty queues between `count` pipelines.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            queues: (0..count * count).map(|_| Queue::default()).collect(),
            receivers: (0..count).map(|_| Receiver::default()).collect(),
        }
    }

    /// Number of pipelines.
    pub fn pipelines(&self) -> usize {
        self.count
    }

    fn queue(&self, from: usize, to: usize) -> &Mutex<Waiting> {
        &self.queues[from * self.count + to].0
    }

    /// Moves packets to the end of a queue, and packets for reuse to `spare`. Returns the number of
    /// packets that found no room, and whether the receiver has to be woken.
    pub fn offer(
        &self,
        from: usize,
        to: usize,
        packets: &mut Vec<Box<Packet>>,
        spare: &mut Vec<Box<Packet>>,
    ) -> (usize, bool) {
        let mut waiting = lock(self.queue(from, to));
        let room = packets.len().min(CROSSING_QUEUE - waiting.packets.len());
        waiting.packets.extend(packets.drain(..room));
        spare.append(&mut waiting.spare);
        drop(waiting);
        let dropped = packets.len();
        spare.append(packets);
        (dropped, self.receivers[to].sleeps.swap(false, Ordering::AcqRel))
    }

    /// Moves all packets of a queue to `packets`, which is empty, and `spare` back to the sender.
    pub fn take(
        &self,
        from: usize,
        to: usize,
        packets: &mut Vec<Box<Packet>>,
        spare: &mut Vec<Box<Packet>>,
    ) {
        let mut waiting = lock(self.queue(from, to));
        std::mem::swap(&mut waiting.packets, packets);
        waiting.spare.append(spare);
    }

    /// Prepares the sleep of a receiver. Returns false if packets wait for it, so that it must not
    /// sleep. Senders of later packets wake it.
    pub fn may_sleep(&self, to: usize) -> bool {
        if self.count == 1 {
            return true;
        }
        // A sender that comes after the look at its queue sees this, because both lock the queue.
        self.receivers[to].sleeps.store(true, Ordering::Release);
        let waits = (0..self.count).any(|from| !lock(self.queue(from, to)).packets.is_empty());
        if waits {
            self.awake(to);
        }
        !waits
    }

    /// Ends the sleep of a receiver.
    pub fn awake(&self, to: usize) {
        if self.count > 1 {
            self.receivers[to].sleeps.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(count: usize) -> Vec<Box<Packet>> {
        (0..count)
            .map(|at| {
                let mut packet = Box::<Packet>::default();
                packet.length = at as u32;
                packet
            })
            .collect()
    }

    #[test]
    fn a_full_queue_drops_the_newest_packets() {
        let crossings = Crossings::new(2);
        let mut spare = Vec::new();
        let (dropped, _) = crossings.offer(0, 1, &mut packets(CROSSING_QUEUE - 1), &mut spare);
        assert_eq!((dropped, spare.len()), (0, 0));
        let (dropped, _) = crossings.offer(0, 1, &mut packets(3), &mut spare);
        assert_eq!((dropped, spare.len()), (2, 2), "memory of dropped packets is used again");
        let (dropped, _) = crossings.offer(1, 0, &mut packets(3), &mut spare);
        assert_eq!(dropped, 0, "the other direction has room");
        let mut taken = Vec::new();
        crossings.take(0, 1, &mut taken, &mut Vec::new());
        assert_eq!(taken.len(), CROSSING_QUEUE);
        assert_eq!(taken.last().unwrap().length, 0, "the first of the three");
    }

    #[test]
    fn memory_of_packets_returns_to_their_sender() {
        let crossings = Crossings::new(4);
        let (mut taken, mut spare) = (Vec::new(), Vec::new());
        crossings.offer(3, 1, &mut packets(5), &mut spare);
        crossings.take(3, 1, &mut taken, &mut Vec::new());
        crossings.take(3, 1, &mut Vec::new(), &mut taken);
        crossings.offer(2, 1, &mut packets(1), &mut spare);
        assert_eq!(spare.len(), 0);
        crossings.offer(3, 1, &mut packets(1), &mut spare);
        assert_eq!(spare.len(), 5);
    }

    #[test]
    fn only_a_sleeping_receiver_is_woken_and_only_once() {
        let crossings = Crossings::new(2);
        let offer = || crossings.offer(0, 1, &mut packets(1), &mut Vec::new()).1;
        assert!(!offer(), "it is awake");
        assert!(!crossings.may_sleep(1), "a packet waits");
        assert!(!offer(), "it did not go to sleep");
        crossings.take(0, 1, &mut Vec::new(), &mut Vec::new());
        assert!(crossings.may_sleep(1));
        assert!(offer() && !offer());
        crossings.take(0, 1, &mut Vec::new(), &mut Vec::new());
        assert!(crossings.may_sleep(1));
        crossings.awake(1);
        assert!(!offer());
    }
}
