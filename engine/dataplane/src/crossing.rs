//! Packets between pipelines that run on threads of their own ([`crate::SharedSwitch`]).
//!
//! A packet is handed over when it is ready for the egress of a pipeline that is not here. Ingress
//! clones, multicast copies and egress clones are handed over in the same way. A recirculated packet
//! enters the pipeline by which it left, so it has changed its pipeline before.

use crate::output::Output;
use crate::packet::Packet;
use crate::switch::Switch;

impl Switch {
    pub(crate) fn hand_over(&mut self, mut packet: Box<Packet>) {
        packet.switch = self.id;
        self.crossing.push(packet);
    }

    /// Moves the packets for the egress of other pipelines to the end of a list, in order. Their
    /// pipelines are those of [`Packet::egress_port`].
    pub fn take_crossing(&mut self, to: &mut Vec<Box<Packet>>) {
        to.append(&mut self.crossing);
    }

    /// Processes packets that other pipelines of the switch have handed over, in order, with all
    /// their copies and passes. Appends as many packets to `spare`, which those pipelines may reuse.
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
            if packet.switch != self.id {
                strange += 1;
                self.pool.push(packet);
                continue;
            }
            self.now_ns = self.now_ns.max(packet.now_ns);
            let clones = self.egress(packet, out, &mut None);
            self.process_queues(out, &mut None, clones);
        }
        self.update_executor_statistics();
        spare.extend(self.pool.drain(self.pool.len().saturating_sub(count)..));
        strange
    }

    /// Takes packets for reuse.
    pub fn reuse(&mut self, packets: &mut Vec<Box<Packet>>) {
        self.pool.append(packets);
    }
}
