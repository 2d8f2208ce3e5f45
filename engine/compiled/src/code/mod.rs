//! Compiles a program's graphs to machine code.
//!
//! A word of the state area is an SSA value, not memory: it is in a register of the machine or on
//! the stack. Values without a reader are not computed, and initial zeros are free. Only words that
//! are accessed with a run-time index stay in the packet's memory (see [`crate::plan`]).
//!
//! A program becomes these functions:
//!
//! - `forward`: from a received frame to the sent frame, with all six graphs. It returns at the end
//!   of ingress if the egress port belongs to another pipeline.
//! - `fast`: the same, once for each common path of the program; other frames are left to
//!   `forward`.
//! - `again`: as `fast`, for recirculated frames. Both make the copies of a multicast packet, one
//!   after the other.
//! - `transmit`: from the start of egress to the sent frame, for a packet in memory.
//!   All of these continue with the egress clone of a packet that is dropped itself, if there is
//!   one clone and it keeps no metadata. Its pass through egress is compiled with that knowledge.
//! - one function for each recirculation that goes on with fields (see [`crate::recirculations`]).
//! - one function for each graph, for packets that are cloned, resubmitted or multicast.

mod bit_string;
mod builder;
mod cells;
mod checksum;
mod copies;
mod copy_loop;
mod deparse;
mod expr;
mod externs;
mod fast;
mod fold;
mod ops;
mod parse;
mod parts;
mod recirculation_start;
mod recirculations;
mod slots;
mod table;
mod unit;
mod vectors;
mod wide;

use netkv_dataplane::{Graph, Objects};
use netkv_ir::Program;

use crate::error::CompileError;
use crate::machine::{Assembler, Machine};
use crate::paths::{Arrival, common_paths};
use crate::plan::Plan;
use crate::prefetch::Prefetch;
use crate::recirculations::recirculations;
use crate::shapes::Shapes;

/// The code of a program. Any number of switches can share it.
pub(crate) struct Code {
    pub(crate) machine: Machine,
    pub(crate) plan: Plan,
    /// Numbers of the functions in `machine`.
    pub(crate) forward: usize,
    /// As `forward`, for frames on the common paths.
    pub(crate) fast: Option<usize>,
    /// As `fast`, for recirculated frames.
    pub(crate) again: Option<usize>,
    /// From the fields of a recirculated packet on, for each recirculation that functions lead to.
    pub(crate) from_fields: Vec<Option<usize>>,
    pub(crate) transmit: usize,
    pub(crate) graphs: [usize; 6],
    /// The prefetching, and the number of the function that computes the slots of frames.
    pub(crate) prefetch: Option<(Prefetch, usize)>,
}

impl Code {
    /// Compiles a program for switches with this number of pipelines. `objects` are those of one.
    pub(crate) fn new(
        program: &Program,
        objects: &Objects,
        pipelines: usize,
    ) -> Result<Self, CompileError> {
        let mut plan = Plan::new(program);
        let shapes = Shapes::new(objects, program.tables.len());
        let paths = [Arrival::Received, Arrival::Recirculated].map(|arrival| {
            let mut parser = common_paths(program, &plan, arrival);
            let recirculations =
                parser.as_mut().map(|parser| recirculations(program, &plan, parser));
            (arrival, parser, recirculations.unwrap_or_default())
        });
        if let [_, (_, Some(parser), _)] = &paths {
            plan.set_recirculated_head(program, &parser.variants.cfg);
        }
        let mut assembler = Assembler::new()?;
        let mut unit = |kind| unit::compile(&mut assembler, program, &plan, &shapes, kind);
        let forward = unit(unit::Kind::Forward { pipelines })?.function;
        let (mut on_paths, mut from_fields) = ([None; 2], Vec::new());
        for (on_paths, (arrival, parser, recirculations)) in on_paths.iter_mut().zip(&paths) {
            let Some(parser) = parser else { continue };
            let recirculations = unit::Recirculations {
                recirculations,
                first: from_fields.len(),
                arrival: *arrival,
            };
            let unit::Unit { function, origins } =
                unit(unit::Kind::Fast { parser, recirculations, pipelines })?;
            *on_paths = Some(function);
            for (index, origins) in origins.into_iter().enumerate() {
                from_fields.push(match origins {
                    Some(origins) => {
                        let kind =
                            unit::Kind::Recirculation { recirculations, index, origins, pipelines };
                        Some(unit(kind)?.function)
                    }
                    None => None,
                });
            }
        }
        let [fast, again] = on_paths;
        let transmit = unit(unit::Kind::Transmit)?.function;
        let mut graphs = [0; 6];
        for graph in Graph::ALL {
            graphs[graph as usize] = unit(unit::Kind::Graph(graph))?.function;
        }
        let prefetch = match Prefetch::new(program, &shapes) {
            None => None,
            Some((prefetch, lookup)) => {
                Some((prefetch, unit(unit::Kind::Slots(&lookup))?.function))
            }
        };
        let machine = assembler.finish()?;
        Ok(Self { machine, plan, forward, fast, again, from_fields, transmit, graphs, prefetch })
    }
}
