//! The interpreter: the reference executor, and the only one that can trace.
//!
//! When a program is loaded, `prepare_graph` and `prepare_expr` convert its graphs to the prepared
//! form (`prepared_program`, `prepared_graph`, `prepared_expr`). [`Interpreter`] walks the prepared
//! blocks, and `execute_step` executes their steps. Simplicity has priority over speed.

pub(crate) mod execute_step;
pub(crate) mod prepare_expr;
mod prepare_graph;
pub(crate) mod prepared_expr;
mod prepared_graph;
pub(crate) mod prepared_program;

use std::sync::Arc;

use netkv_ir::Program;

use crate::executor::Executor;
use crate::graph::Graph;
use crate::objects::Objects;
use crate::packet::Packet;
use crate::tables::in_range;
use crate::trace_recorder::{OpPosition, Recorder};
use execute_step::Flow;
use prepare_graph::push_keys;
use prepared_graph::{Apply, BlockEnd, Case, WidePattern};
use prepared_program::PreparedProgram;

/// Maximum number of blocks that one graph may run for one packet. Only a parser that loops without
/// extracting anything reaches it.
const MAX_BLOCKS_RUN: u32 = 65_536;

/// Executor that walks prepared graphs.
#[derive(Debug)]
pub struct Interpreter {
    program: PreparedProgram,
}

impl Interpreter {
    /// Prepares a validated program.
    pub(crate) fn new(program: &Arc<Program>) -> Self {
        Self { program: PreparedProgram::new(program) }
    }

    fn execute<const TRACE: bool>(
        &self,
        graph: Graph,
        packet: &mut Packet,
        objects: &mut Objects,
        mut recorder: Option<&mut Recorder>,
    ) {
        let blocks = &self.program.graphs[graph as usize];
        let Some(mut block) = blocks.first() else { return };
        let mut position = OpPosition { graph, block: 0, op: 0 };
        if TRACE && let Some(recorder) = recorder.as_deref_mut() {
            recorder.record_block_start(&self.program, position);
        }
        for _ in 0..MAX_BLOCKS_RUN {
            for (op, step) in block.steps.iter().enumerate() {
                position.op = op as u32;
                if TRACE && let Some(recorder) = recorder.as_deref_mut() {
                    recorder.store_inputs(&self.program, position, packet);
                }
                let flow = self.program.execute_step(step, packet, objects);
                if TRACE && let Some(recorder) = recorder.as_deref_mut() {
                    recorder.record_effect(&self.program, position, packet, objects, flow);
                }
                match flow {
                    Flow::Next => {}
                    Flow::End => return,
                    Flow::Error(error) => {
                        packet.set(self.program.standard.parser_error, error);
                        return;
                    }
                }
            }
            if TRACE && let Some(recorder) = recorder.as_deref_mut() {
                recorder.store_keys(&self.program, position, packet);
            }
            let next =
                match &block.end {
                    BlockEnd::Jump(next) => *next,
                    BlockEnd::Branch { cond, then, otherwise } => {
                        if cond.eval(&mut packet.state) == 1 { *then } else { *otherwise }
                    }
                    BlockEnd::SelectNarrow { key, cases, default } => {
                        let key = key.eval(&mut packet.state);
                        let hit = cases.iter().find(|(test, _)| test.holds(key));
                        hit.map_or(*default, |(_, target)| *target)
                    }
                    BlockEnd::Select { keys, cases, default } => {
                        let at = push_keys(keys, &mut packet.state);
                        let key = &packet.state.scratch[at..];
                        let hit = cases.iter().find(|case| self.case_holds(case, key, objects));
                        packet.state.scratch.truncate(at);
                        hit.map_or(*default, |case| case.target)
                    }
                    BlockEnd::Apply(apply) => {
                        self.apply(apply, packet, objects, recorder.as_deref_mut())
                    }
                    BlockEnd::Exit => return,
                };
            if TRACE && let Some(recorder) = recorder.as_deref_mut() {
                recorder.record_block_end(&self.program, position, next);
            }
            position = OpPosition { graph, block: next, op: 0 };
            block = &blocks[next as usize];
        }
        objects.counts.endless_graphs += 1;
        if graph == Graph::Parser {
            packet.set(self.program.standard.parser_error, self.program.errors.timeout);
        }
    }

    fn case_holds(&self, case: &Case, key: &[u64], objects: &Objects) -> bool {
        case.patterns.iter().all(|pattern| match pattern {
            WidePattern::Mask { from, value, mask } => key[*from..]
                .iter()
                .zip(value)
                .zip(mask)
                .all(|((key, value), mask)| key & mask == *value),
            WidePattern::Range { from, low, high } => {
                in_range(&key[*from..*from + low.len()], low, high)
            }
            WidePattern::ValueSet(set) => objects.value_set_holds(*set, key),
        })
    }

    /// Applies a table. Returns the block of the action.
    fn apply(
        &self,
        apply: &Apply,
        packet: &mut Packet,
        objects: &mut Objects,
        recorder: Option<&mut Recorder>,
    ) -> u32 {
        if !apply.selector.is_empty() {
            self.program.collect_hash_input(&apply.selector, packet);
        }
        let at = push_keys(&apply.keys, &mut packet.state);
        let applied = objects.apply(
            apply.table,
            &packet.state.scratch[at..],
            packet.hash_input.bytes(),
            packet.ingress_length,
            packet.now_ns,
        );
        packet.state.scratch.truncate(at);
        let target = &apply.targets[applied.index as usize];
        let mut data = &*applied.action.words;
        for (word, words) in &target.params {
            let (value, rest) = data.split_at(*words as usize);
            data = rest;
            if let [value] = value {
                packet.state.words[*word as usize] = *value;
            } else {
                let place = *word as usize..(*word + *words) as usize;
                packet.state.words[place].copy_from_slice(value);
            }
        }
        packet.state.words[apply.hit as usize] = u64::from(applied.hit);
        packet.state.words[apply.action_run as usize] = u64::from(applied.index);
        if let Some(recorder) = recorder {
            let action = applied.action.clone();
            let (hit, entry) = (applied.hit, applied.entry);
            recorder.record_apply(&self.program, apply.table, hit, &action, entry, objects);
        }
        target.block
    }
}

impl Interpreter {
    /// Runs a graph to its end. If there is a recorder, it records every step.
    pub(crate) fn run_traced(
        &self,
        graph: Graph,
        packet: &mut Packet,
        objects: &mut Objects,
        recorder: Option<&mut Recorder>,
    ) {
        match recorder {
            None => self.execute::<false>(graph, packet, objects, None),
            Some(recorder) => self.execute::<true>(graph, packet, objects, Some(recorder)),
        }
        debug_assert!(packet.state.scratch.is_empty(), "an operation left its scratch behind");
    }
}

impl Executor for Interpreter {
    fn run(&mut self, graph: Graph, packet: &mut Packet, objects: &mut Objects) {
        self.run_traced(graph, packet, objects, None);
    }
}
