//! The seam between the order of a switch and what runs its graphs.
//!
//! [`crate::Switch`] knows what happens between the blocks of v1model (replication, drops, loops);
//! an executor knows how one graph of the IR changes a packet and the shared objects. The
//! interpreter is one executor; a compiled one takes the same packets and the same objects.

use netkv_ir::{Cfg, Program};
use serde::Serialize;

use crate::objects::Objects;
use crate::packet::Packet;
use crate::recorder::Recorder;

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

/// Runs graphs of one program.
pub trait Executor: Send + Sync {
    /// Runs a graph to its end. With a recorder, every step is written down; an executor that
    /// cannot do that is not asked to (the interpreter traces for all).
    fn run(
        &self,
        graph: Graph,
        packet: &mut Packet,
        objects: &mut Objects,
        recorder: Option<&mut Recorder>,
    );
}
