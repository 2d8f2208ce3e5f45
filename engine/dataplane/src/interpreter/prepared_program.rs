//! A program in the prepared form.

use std::sync::Arc;

use netkv_ir::{Program, StandardMetadata};

use super::prepare_graph::prepare_graph;
use super::prepared_graph::Block;
use crate::graph::Graph;
use crate::header_codec::{HeaderPlan, StackPlan};

/// A program in the prepared form.
#[derive(Debug)]
pub(crate) struct PreparedProgram {
    pub(crate) program: Arc<Program>,
    pub(super) graphs: [Vec<Block>; 6],
    pub(crate) headers: Vec<HeaderPlan>,
    pub(crate) stacks: Vec<StackPlan>,
    pub(crate) standard: StandardMetadata,
    pub(crate) errors: ParserErrors,
}

/// Indices of core.p4's errors in the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParserErrors {
    pub(crate) packet_too_short: u64,
    pub(crate) stack_out_of_bounds: u64,
    pub(crate) header_too_short: u64,
    pub(crate) timeout: u64,
    pub(crate) invalid_argument: u64,
}

impl PreparedProgram {
    /// Prepares a validated program.
    pub(crate) fn new(program: &Arc<Program>) -> Self {
        let error = |name: &str| {
            let at = program.errors.iter().position(|error| error == name);
            at.unwrap_or(0) as u64
        };
        Self {
            graphs: Graph::ALL.map(|graph| prepare_graph(program, graph.of(program))),
            headers: program.headers.iter().map(HeaderPlan::new).collect(),
            stacks: program.stacks.iter().map(StackPlan::new).collect(),
            standard: program.standard_metadata.clone(),
            errors: ParserErrors {
                packet_too_short: error("PacketTooShort"),
                stack_out_of_bounds: error("StackOutOfBounds"),
                header_too_short: error("HeaderTooShort"),
                timeout: error("ParserTimeout"),
                invalid_argument: error("ParserInvalidArgument"),
            },
            program: Arc::clone(program),
        }
    }
}
