//! The queues between the pipelines of a switch, each of which has a thread of its own.
//!
//! There is one for each ordered pair of pipelines, so packets from one port to another keep their
//! order. Nobody waits for room: packets that find a queue full are dropped and counted, as in the
//! traffic manager of a switch. So pipelines that send packets to each other cannot block each
//! other.
//!
//! Memory of packets goes back through the same queue, so that no pipeline allocates packets for
//! ever and no other one collects them.
#![allow(clippy::vec_box)] // a packet is large, and boxes are cheap to move

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::in_flight::InFlight;
use crate::packet::Packet;
use crate::pipeline_instance::pipeline_of;

/// Maximum number of packets that wait between two pipelines; further ones are dropped and counted.
pub const CROSSING_QUEUE: usize = 4096;

/// The queues of a switch.
pub struct CrossingQueues {
    in_flight: Arc<InFlight>,
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
    /// Nobody takes the packets any more.
    closed: bool,
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

impl CrossingQueues {
    /// Empty queues between the pipelines of a switch.
    pub fn new(in_flight: &Arc<InFlight>) -> Self {
        let count = in_flight.pipelines();
        Self {
            in_flight: Arc::clone(in_flight),
            count,
            queues: (0..count * count).map(|_| Queue::default()).collect(),
            receivers: (0..count).map(|_| Receiver::default()).collect(),
        }
    }

    /// Number of pipelines.
    pub fn pipelines(&self) -> usize {
        self.count
    }

    fn lock(&self, from: usize, to: usize) -> MutexGuard<'_, Waiting> {
        self.queues[from * self.count + to].0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of packets of a sender that wait in its queues.
    pub fn waiting(&self, from: usize) -> usize {
        (0..self.count).map(|to| self.lock(from, to).packets.len()).sum()
    }

    /// Moves packets to the queues of their pipelines, and packets for reuse to `spare`. Calls
    /// `wake` with each pipeline that has to be woken. Returns the number of packets that found no
    /// room.
    pub fn send(
        &self,
        from: usize,
        packets: &mut Vec<Box<Packet>>,
        spare: &mut Vec<Box<Packet>>,
        mut wake: impl FnMut(usize),
    ) -> usize {
        let mut dropped = 0;
        for to in 0..self.count {
            let is_for = |packet: &Packet| pipeline_of(packet.egress_port, self.count) == to;
            if !packets.iter().any(|packet| is_for(packet)) {
                continue;
            }
            let mut waiting = self.lock(from, to);
            let room = if waiting.closed { 0 } else { CROSSING_QUEUE - waiting.packets.len() };
            waiting.packets.extend(packets.extract_if(.., |packet| is_for(packet)).take(room));
            spare.append(&mut waiting.spare);
            drop(waiting);
            for packet in packets.extract_if(.., |packet| is_for(packet)) {
                self.in_flight.finish(from, packet.epoch);
                spare.push(packet);
                dropped += 1;
            }
            if self.receivers[to].sleeps.swap(false, Ordering::AcqRel) {
                wake(to);
            }
        }
        dropped
    }

    /// Moves all packets of a queue to `packets`, which is empty, and `spare` back to the sender.
    pub fn take(
        &self,
        from: usize,
        to: usize,
        packets: &mut Vec<Box<Packet>>,
        spare: &mut Vec<Box<Packet>>,
    ) {
        let mut waiting = self.lock(from, to);
        std::mem::swap(&mut waiting.packets, packets);
        waiting.spare.append(spare);
    }

    /// Drops all packets, while no thread sends or takes some. Returns their number.
    pub fn discard(&self) -> usize {
        self.each(|_| ())
    }

    /// Drops all packets, and later ones, because the threads end.
    pub fn close(&self) {
        self.each(|waiting| waiting.closed = true);
    }

    /// Drops the packets of each queue, and changes the queue.
    fn each(&self, change: impl Fn(&mut Waiting)) -> usize {
        let mut dropped = 0;
        for (at, queue) in self.queues.iter().enumerate() {
            let mut waiting = queue.0.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut waiting);
            dropped += waiting.packets.len();
            for packet in waiting.packets.drain(..) {
                self.in_flight.finish(at % self.count, packet.epoch);
            }
        }
        dropped
    }

    /// Prepares the sleep of a receiver. Returns false if packets wait for it, so that it must not
    /// sleep. Senders of later packets wake it.
    pub fn may_sleep(&self, to: usize) -> bool {
        if self.count == 1 {
            return true;
        }
        // A sender that comes after the look at its queue sees this, because both lock the queue.
        self.receivers[to].sleeps.store(true, Ordering::Release);
        let waits = (0..self.count).any(|from| !self.lock(from, to).packets.is_empty());
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

    fn queues(pipelines: usize) -> CrossingQueues {
        CrossingQueues::new(&Arc::new(InFlight::new(pipelines)))
    }

    /// Packets for a port.
    fn packets(count: usize, port: u16) -> Vec<Box<Packet>> {
        let packet = |at| Packet { length: at as u32, egress_port: port, ..Packet::default() };
        (0..count).map(|at| Box::new(packet(at))).collect()
    }

    #[test]
    fn a_full_queue_drops_the_newest_packets() {
        let queues = queues(2);
        let mut spare = Vec::new();
        let mut send = |from, count, port| {
            let dropped = queues.send(from, &mut packets(count, port), &mut spare, |_| ());
            (dropped, spare.len(), queues.waiting(from))
        };
        assert_eq!(send(0, CROSSING_QUEUE - 1, 3), (0, 0, CROSSING_QUEUE - 1));
        assert_eq!(
            send(0, 3, 1),
            (2, 2, CROSSING_QUEUE),
            "memory of dropped packets is used again"
        );
        assert_eq!(send(1, 3, 0), (0, 2, 3), "the other direction has room");
        let mut taken = Vec::new();
        queues.take(0, 1, &mut taken, &mut Vec::new());
        assert_eq!(taken.len(), CROSSING_QUEUE);
        let last = taken.last().unwrap();
        assert_eq!((last.egress_port, last.length), (1, 0), "the first of the three");
    }

    #[test]
    fn packets_that_nobody_takes_are_dropped() {
        let queues = queues(2);
        let mut spare = Vec::new();
        let mut send = || queues.send(0, &mut packets(3, 1), &mut spare, |_| ());
        assert_eq!(send(), 0);
        assert_eq!((queues.discard(), queues.waiting(0)), (3, 0));
        assert_eq!(send(), 0);
        queues.close();
        assert_eq!((send(), queues.waiting(0)), (3, 0));
    }

    #[test]
    fn packets_go_to_the_pipelines_of_their_ports_in_order() {
        let queues = queues(4);
        let mut mixed: Vec<_> = [5, 2, 9, 3, 1].into_iter().flat_map(|p| packets(2, p)).collect();
        assert_eq!(queues.send(0, &mut mixed, &mut Vec::new(), |_| ()), 0);
        assert!(mixed.is_empty());
        let ports = |to| -> Vec<(u16, u32)> {
            let mut taken = Vec::new();
            queues.take(0, to, &mut taken, &mut Vec::new());
            taken.iter().map(|packet| (packet.egress_port, packet.length)).collect()
        };
        assert_eq!(ports(1), [(5, 0), (5, 1), (9, 0), (9, 1), (1, 0), (1, 1)]);
        assert_eq!(ports(2), [(2, 0), (2, 1)]);
        assert_eq!(ports(3), [(3, 0), (3, 1)]);
    }

    #[test]
    fn memory_of_packets_returns_to_their_sender() {
        let queues = queues(4);
        let (mut taken, mut spare) = (Vec::new(), Vec::new());
        queues.send(3, &mut packets(5, 1), &mut spare, |_| ());
        queues.take(3, 1, &mut taken, &mut Vec::new());
        queues.take(3, 1, &mut Vec::new(), &mut taken);
        queues.send(2, &mut packets(1, 1), &mut spare, |_| ());
        assert_eq!(spare.len(), 0);
        queues.send(3, &mut packets(1, 1), &mut spare, |_| ());
        assert_eq!(spare.len(), 5);
    }

    #[test]
    fn only_a_sleeping_receiver_is_woken_and_only_once() {
        let queues = queues(2);
        let woken = || {
            let mut woken = Vec::new();
            queues.send(0, &mut packets(1, 1), &mut Vec::new(), |to| woken.push(to));
            woken
        };
        assert_eq!(woken(), [], "it is awake");
        assert!(!queues.may_sleep(1), "a packet waits");
        assert_eq!(woken(), [], "it did not go to sleep");
        queues.take(0, 1, &mut Vec::new(), &mut Vec::new());
        assert!(queues.may_sleep(1));
        assert_eq!((woken(), woken()), (vec![1], vec![]));
        queues.take(0, 1, &mut Vec::new(), &mut Vec::new());
        assert!(queues.may_sleep(1));
        queues.awake(1);
        assert_eq!(woken(), []);
    }
}
