//! The interface between the switch and the executors, which run the graphs of a program.
//!
//! [`crate::Switch`] implements the steps between the blocks of v1model: replication, drops, loops.
//! An executor runs a graph of the IR, which changes a packet and the objects of a pipeline. There
//! are two executors, the interpreter and the compiled one. Both use the same packets and objects.

use std::ops::AddAssign;

use crate::frame::{Batch, Frame};
use crate::graph::Graph;
use crate::objects::Objects;
use crate::output::Output;
use crate::packet::Packet;

/// Reason for which an executor returns a packet to the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The executor runs single graphs only. The switch continues graph by graph.
    Nowhere,
    /// The packet is at the end of ingress, and its requests are more than one output port.
    EndOfIngress,
    /// The packet is ready for the egress of another pipeline.
    OtherPipeline,
    /// The packet is at the end of the egress graph, and its requests are more than a transmission.
    EndOfEgress,
    /// The packet is one copy of a multicast group, as at [`Stop::EndOfEgress`]. It is the last of
    /// so many copies that are made; the group has more. [`Executor::original`] has the packet of
    /// the others.
    EndOfCopy {
        /// Number of copies that are made.
        copies: usize,
    },
    /// The packet has left egress and is recirculated. Its bytes are those that the deparser made.
    /// Its state holds the metadata that it keeps.
    Recirculated,
}

/// Packets that an executor has processed completely.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Frames sent, which are in the output.
    pub sent: u64,
    /// Bytes of the frames sent.
    pub sent_bytes: u64,
    /// Packets dropped at the end of ingress.
    pub dropped_ingress: u64,
    /// Packets dropped at the end of egress.
    pub dropped_egress: u64,
    /// Egress clones that were made of such packets, and processed.
    pub cloned: u64,
    /// Copies of multicast groups that were made.
    pub replicated: u64,
    /// Packets that were recirculated, and whose next ingress was processed.
    pub recirculated: u64,
    /// Passes through ingress and egress of the frame that stopped, with all its copies.
    pub passes: u32,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.dropped_ingress += other.dropped_ingress;
        self.dropped_egress += other.dropped_egress;
        self.cloned += other.cloned;
        self.replicated += other.replicated;
        self.recirculated += other.recirculated;
        self.passes += other.passes;
    }
}

/// Runs graphs of one program over packets and the objects of one pipeline.
///
/// An executor must implement [`Executor::run`]. [`Executor::forward`] and
/// [`Executor::transmit`] are a fast path for the common packet, which enters at one port and
/// leaves at one port.
pub trait Executor: Send {
    /// Runs a graph to its end.
    fn run(&mut self, graph: Graph, packet: &mut Packet, objects: &mut Objects);

    /// Processes the frames of a batch, from index `from` on, in ingress and egress. Stops at the
    /// first frame that needs the switch, and returns its index and the reason. `None`: all frames
    /// are done.
    ///
    /// `packet` is reusable memory. After a stop of another kind than [`Stop::Nowhere`], it holds
    /// the packet. The executor does not run the egress of another pipeline.
    ///
    /// The switch calls it with increasing indices of one batch, before it starts another batch.
    fn forward(
        &mut self,
        batch: &Batch<'_>,
        from: usize,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<(usize, Stop)> {
        let _ = (packet, objects, out, tally);
        (from < batch.frames.len()).then_some((from, Stop::Nowhere))
    }

    /// After [`Stop::EndOfCopy`], turns a duplicate of the copy into the packet at the end of
    /// ingress of which the other copies are made.
    fn original(&mut self, packet: &mut Packet) {
        let _ = packet;
    }

    /// Starts loading what these frames will access into the processor's caches, because they are
    /// processed soon, after those of the previous call. It is only a hint: it changes no result.
    fn prefetch(&mut self, frames: &[Frame<'_>], objects: &mut Objects) {
        let _ = (frames, objects);
    }

    /// Processes a packet that is ready for egress. Returns the reason for a stop. `None`: the
    /// packet is done. With `may_clone`, it may drop the packet and continue with its egress clone.
    fn transmit(
        &mut self,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
        may_clone: bool,
    ) -> Option<Stop> {
        let _ = (packet, objects, out, tally, may_clone);
        Some(Stop::Nowhere)
    }
}
