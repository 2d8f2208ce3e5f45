//! From a program's graphs to machine code.
//!
//! Words of the state area are values of the code, not memory: what a header field holds is in a
//! register of the machine or on its stack, what nothing reads is never computed, and zeros at the
//! start cost nothing. Only words that code reaches by a run-time index stay in the packet's memory
//! (see [`crate::plan`]).
//!
//! Made are: `forward`, from a frame to the frame that leaves, with all six graphs in one function
//! (where the egress port is another pipeline's, only to the end of ingress); `transmit`, the same from egress on for a packet that lies in memory; and each graph by itself,
//! for the packets that are cloned, resubmitted or multicast.

mod builder;
mod deparse;
mod expr;
mod externs;
mod ops;
mod parse;
mod position;
mod table;
mod unit;
mod wide;

use netkv_dataplane::{Graph, Objects};
use netkv_ir::Program;

use crate::CompileError;
use crate::foresight::Foresight;
use crate::machine::{Assembler, Machine};
use crate::plan::Plan;

pub(crate) use builder::Shapes;
pub(crate) use unit::cyclic;

/// The code of a program, for any number of switches that run it.
pub(crate) struct Code {
    pub(crate) machine: Machine,
    pub(crate) plan: Plan,
    /// Functions of the machine.
    pub(crate) forward: usize,
    pub(crate) transmit: usize,
    pub(crate) graphs: [usize; 6],
    /// What to fetch early, and the function that tells the slot of a frame.
    pub(crate) foresight: Option<(Foresight, usize)>,
}

impl Code {
    /// Compiles a program for switches of so many pipelines; `objects` are those of one of them.
    pub(crate) fn new(
        program: &Program,
        objects: &Objects,
        pipelines: usize,
    ) -> Result<Self, CompileError> {
        let plan = Plan::new(program);
        let shapes = Shapes {
            registers: objects.registers.layouts().to_vec(),
            slot_words: (0..program.tables.len())
                .map(|table| objects.exact_map(table).map(netkv_dataplane::ExactMap::slot_words))
                .collect(),
        };
        let mut assembler = Assembler::new()?;
        let mut unit = |kind| unit::compile(&mut assembler, program, &plan, &shapes, kind);
        let forward = unit(unit::Kind::Forward { pipelines })?;
        let transmit = unit(unit::Kind::Transmit)?;
        let mut graphs = [0; 6];
        for graph in Graph::ALL {
            graphs[graph as usize] = unit(unit::Kind::Graph(graph))?;
        }
        let foresight = match Foresight::new(program, &shapes) {
            None => None,
            Some((foresight, apply)) => Some((foresight, unit(unit::Kind::Slot(apply))?)),
        };
        Ok(Self { machine: assembler.finish()?, plan, forward, transmit, graphs, foresight })
    }
}
