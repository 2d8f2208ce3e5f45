//! Handing packets over between pipelines that run on threads of their own.
//!
//! A packet is handed over when it is ready for the egress of a pipeline that is not here. Ingress
//! clones, multicast copies and egress clones are handed over in the same way. A recirculated
//! packet enters the pipeline by which it left, so it has changed its pipeline before.

#![allow(clippy::vec_box)] // a packet is large, and boxes are cheap to move

use crate::output::Output;
use crate::packet::Packet;
use crate::switch::Switch;

impl Switch {
    pub(crate) fn hand_over(&mut self, mut packet: Box<Packet>) {
        let Some(crossing) = &mut self.crossing else { return };
        packet.switch = self.id;
        packet.epoch = crossing.in_flight.begin(crossing.pipeline, crossing.cause);
        crossing.packets.push(packet);
    }

    /// Moves the packets for the egress of other pipelines to the end of a list, in order. Their
    /// pipelines are those of [`Packet::egress_port`].
    pub fn take_crossing(&mut self, to: &mut Vec<Box<Packet>>) {
        if let Some(crossing) = &mut self.crossing {
            to.append(&mut crossing.packets);
        }
    }

    /// Processes packets that other pipelines of the switch have handed over, in order, with all
    /// their copies and passes. Appends as many packets to `spare`, which those pipelines may
    /// reuse.
    ///
    /// Returns the number of packets that came from another switch: from one that was replaced by
    /// this one in the meantime. They are dropped, because their state is that of its program.
    pub fn receive_crossing(
        &mut self,
        packets: impl Iterator<Item = Box<Packet>>,
        spare: &mut Vec<Box<Packet>>,
        out: &mut Output,
    ) -> u64 {
        let (mut count, mut strange) = (0, 0);
        for packet in packets {
            count += 1;
            let epoch = packet.epoch;
            if packet.switch == self.id {
                self.set_cause(Some(epoch));
                self.now_ns = self.now_ns.max(packet.now_ns);
                let clones = self.egress(packet, out, &mut None);
                self.process_queues(out, &mut None, clones);
            } else {
                strange += 1;
                self.pool.push(packet);
            }
            if let Some(crossing) = &self.crossing {
                crossing.in_flight.finish(crossing.pipeline, epoch);
            }
        }
        self.set_cause(None);
        self.update_executor_statistics();
        spare.extend(self.pool.drain(self.pool.len().saturating_sub(count)..));
        strange
    }

    fn set_cause(&mut self, epoch: Option<u64>) {
        if let Some(crossing) = &mut self.crossing {
            crossing.cause = epoch;
        }
    }

    /// Takes packets for reuse.
    pub fn reuse(&mut self, packets: &mut Vec<Box<Packet>>) {
        self.pool.append(packets);
    }
}
