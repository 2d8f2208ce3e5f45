//! The seam between the order of a switch and what runs its graphs.
//!
//! [`crate::Switch`] knows what happens between the blocks of v1model (replication, drops, loops);
//! an executor knows how a graph of the IR changes a packet and the objects of a pipeline. The
//! interpreter is one executor; a compiled one takes the same packets and the same objects.

use netkv_ir::{Cfg, Program};
use serde::Serialize;

use crate::objects::Objects;
use crate::output::Output;
use crate::packet::Packet;

/// One of the six graphs of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Graph {
    /// The parser.
    Parser,
    /// `VerifyChecksum`.
    VerifyChecksum,
    /// Ingress.
    Ingress,
    /// Egress.
    Egress,
    /// `ComputeChecksum`.
    ComputeChecksum,
    /// The deparser.
    Deparser,
}

impl Graph {
    /// All of them, in pipeline order.
    pub const ALL: [Graph; 6] = [
        Graph::Parser,
        Graph::VerifyChecksum,
        Graph::Ingress,
        Graph::Egress,
        Graph::ComputeChecksum,
        Graph::Deparser,
    ];

    /// The graph in a program.
    pub fn of(self, program: &Program) -> &Cfg {
        match self {
            Graph::Parser => &program.parser,
            Graph::VerifyChecksum => &program.verify_checksum,
            Graph::Ingress => &program.ingress,
            Graph::Egress => &program.egress,
            Graph::ComputeChecksum => &program.compute_checksum,
            Graph::Deparser => &program.deparser,
        }
    }

    /// Its name as v1model calls it.
    pub fn name(self) -> &'static str {
        match self {
            Graph::Parser => "parser",
            Graph::VerifyChecksum => "verify checksum",
            Graph::Ingress => "ingress",
            Graph::Egress => "egress",
            Graph::ComputeChecksum => "compute checksum",
            Graph::Deparser => "deparser",
        }
    }
}

/// A frame as it comes in.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Port on which it came in.
    pub port: u16,
    /// Time of the caller in nanoseconds.
    pub now_ns: u64,
}

/// Frames that came in together on one port.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The bytes of each.
    pub frames: &'a [&'a [u8]],
    /// Port on which they came in.
    pub port: u16,
    /// Time of the caller in nanoseconds.
    pub now_ns: u64,
}

impl<'a> Batch<'a> {
    /// One of the frames.
    #[inline]
    pub fn frame(&self, place: usize) -> Frame<'a> {
        Frame { bytes: self.frames[place], port: self.port, now_ns: self.now_ns }
    }
}

/// Why an executor gives a packet back to the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It does not take packets further than one graph; the switch goes on graph by graph.
    Nowhere,
    /// The packet is at the end of ingress, and asks for more than to be sent to one port.
    EndOfIngress,
    /// The packet is ready for egress, which is that of another pipeline.
    OtherPipeline,
    /// The packet is at the end of the egress graph, and asks for more than to be sent.
    EndOfEgress,
}

/// What an executor has brought to an end by itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Frames sent; they are in the output.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped at the end of ingress.
    pub dropped_ingress: u64,
    /// Packets dropped at the end of egress.
    pub dropped_egress: u64,
}

/// Runs graphs of one program over packets and the objects of one pipeline.
///
/// [`Executor::run`] is all that one has to do. One that can take the common packet (in on one
/// port, out on one port) from frame to frame in one go says so by the other two.
pub trait Executor: Send {
    /// Runs a graph to its end.
    fn run(&mut self, graph: Graph, packet: &mut Packet, objects: &mut Objects);

    /// Takes the frames of a batch from place `from` on through ingress and egress, until one needs
    /// the switch. Returns the place of that one and why; none when all are done. `packet` may hold
    /// anything before; at a stop at the end of ingress or egress it is the packet. In a switch of
    /// several pipelines, egress of another one is not this executor's to run.
    ///
    /// The switch calls it for the places of one batch in order, and not for other batches in
    /// between.
    fn forward(
        &mut self,
        batch: Batch<'_>,
        from: usize,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<(usize, Stop)> {
        let _ = (packet, objects, out, tally);
        (from < batch.frames.len()).then_some((from, Stop::Nowhere))
    }

    /// Takes a packet that is ready for egress as far as it goes; none when it is done.
    fn transmit(
        &mut self,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<Stop> {
        let _ = (packet, objects, out, tally);
        Some(Stop::Nowhere)
    }
}
