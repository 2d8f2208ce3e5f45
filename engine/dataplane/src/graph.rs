//! The six graphs of a program.

use netkv_ir::{Cfg, Program};
use serde::Serialize;

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
    /// All graphs, in pipeline order.
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

    /// Name of the block in v1model.
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
