//! Functions: what they start from, which graphs they run, and how they end.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder};
use cranelift_frontend::FunctionBuilder;
use netkv_dataplane::{Counts, Graph, NO_LIST, Requests};
use netkv_ir::{Apply, BlockId, Cfg, Program};

use super::builder::{Builder, Shapes, field, frame_memory};
use super::ops::{DROP_PORT, Flow};
use super::position::{Position, positions, successors};
use crate::CompileError;
use crate::context::outcome;
use crate::machine::Assembler;
use crate::plan::{Plan, Words};

/// Blocks that one graph may run for one packet, as in the interpreter.
const BLOCK_LIMIT: u64 = 65_536;
/// `instance_type` of a packet on its ordinary way.
const NORMAL: u64 = 0;

/// A kind of function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    /// From a frame to the frame that leaves, in a switch of so many pipelines.
    Forward { pipelines: usize },
    /// From a packet in memory at the start of egress to the frame that leaves.
    Transmit,
    /// One graph over a packet in memory.
    Graph(Graph),
    /// From a frame to the address of the slot where this table looks first.
    Slot(&'a Apply),
}

/// Compiles a function; its number in the machine.
pub(super) fn compile(
    assembler: &mut Assembler,
    program: &Program,
    plan: &Plan,
    shapes: &Shapes,
    kind: Kind<'_>,
) -> Result<usize, CompileError> {
    let mut function = assembler.function();
    let b = FunctionBuilder::new(&mut function, &mut assembler.builder_context);
    let mut builder = Builder::new(b, program, plan, shapes);
    match kind {
        Kind::Forward { pipelines } => builder.forward(pipelines),
        Kind::Transmit => builder.transmit(),
        Kind::Graph(graph) => builder.single(graph),
        Kind::Slot(apply) => builder.slot(apply),
    }
    builder.b.seal_all_blocks();
    builder.b.finalize();
    assembler.add(function)
}

impl Builder<'_> {
    fn answer(&mut self, outcome: u64) {
        let outcome = self.constant(outcome);
        self.b.ins().return_(&[outcome]);
    }

    /// A packet that has just come in.
    fn fresh_packet(&mut self) {
        let zero = self.constant(0);
        for word in 0..self.program.state_words {
            self.set(word, zero);
        }
        let length = self.frame_length;
        let none = self.constant(NO_LIST);
        let vars = self.vars;
        for var in [vars.cursor, vars.flags, vars.clone_session, vars.digest, vars.written] {
            self.b.def_var(var, zero);
        }
        for var in [vars.clone_list, vars.resubmit_list, vars.recirculate_list, vars.truncate] {
            self.b.def_var(var, none);
        }
        self.b.def_var(vars.length, length);
        let standard = &self.program.standard_metadata;
        let port = self.context_constant(field!(port));
        self.store_number(standard.ingress_port, port);
        self.store_number(standard.packet_length, length);
        let micros = self.microseconds();
        self.store_number(standard.ingress_global_timestamp, micros);
    }

    fn microseconds(&mut self) -> cranelift_codegen::ir::Value {
        let now = self.context_constant(field!(now_ns));
        self.b.ins().udiv_imm(now, 1_000)
    }

    /// A packet that lies in memory: what `words` says of the state, and what the context says.
    fn packet_in_memory(&mut self, words: &Words) {
        let zero = self.constant(0);
        for word in 0..self.program.state_words {
            if !self.plan.in_memory.contains(word) {
                self.set(word, zero);
            }
        }
        self.take_words(words.iter());
        let vars = self.vars;
        for (var, offset) in self.packet_fields() {
            let value = self.context_load(offset);
            self.b.def_var(var, value);
        }
        self.b.def_var(vars.written, zero);
    }

    fn leave_packet(&mut self, words: &Words) {
        self.leave_words(words.iter());
        for (var, offset) in self.packet_fields() {
            let value = self.b.use_var(var);
            self.context_store(offset, value);
        }
    }

    /// Values of the packet that have a field in the context.
    fn packet_fields(&self) -> [(cranelift_frontend::Variable, i32); 9] {
        let vars = &self.vars;
        [
            (vars.cursor, field!(cursor)),
            (vars.length, field!(length)),
            (vars.flags, field!(requests.flags)),
            (vars.clone_session, field!(requests.clone_session)),
            (vars.clone_list, field!(requests.clone_list)),
            (vars.resubmit_list, field!(requests.resubmit_list)),
            (vars.recirculate_list, field!(requests.recirculate_list)),
            (vars.digest, field!(requests.digest)),
            (vars.truncate, field!(requests.truncate)),
        ]
    }

    /// The whole way of a frame, or as far as its pipeline goes.
    fn forward(&mut self, pipelines: usize) {
        self.fresh_packet();
        self.graph(Graph::Parser);
        let error = self.get(self.program.standard_metadata.parser_error.word);
        self.when(error, |b| b.count(std::mem::offset_of!(Counts, parser_errors)));
        self.graph(Graph::VerifyChecksum);
        self.graph(Graph::Ingress);
        self.end_of_ingress();
        if pipelines > 1 {
            self.leave_for_other_pipeline(pipelines);
        }
        self.egress_and_out();
    }

    /// Leaves a packet that is ready for egress if its egress port is not of the pipeline that it
    /// came in by: [`netkv_dataplane::pipeline_of`], in code.
    fn leave_for_other_pipeline(&mut self, pipelines: usize) {
        let kept = self.plan.kept();
        let ports = [self.context_constant(field!(port)), self.context_load(field!(egress_port))];
        let [here, there] = ports.map(|port| self.b.ins().urem_imm(port, pipelines as i64));
        let other = self.b.ins().icmp(IntCC::NotEqual, here, there);
        let (leave, stay) = (self.new_block(), self.new_block());
        self.b.ins().brif(other, leave, &[], stay, &[]);
        self.enter(leave);
        self.leave_packet(&kept);
        self.answer(outcome::OTHER_PIPELINE);
        self.enter(stay);
    }

    /// Leaves to the switch what asks for more than one port, drops what is dropped, and readies
    /// the rest for egress, all as the switch does it.
    fn end_of_ingress(&mut self) {
        let kept = self.plan.kept();
        let standard = &self.program.standard_metadata;
        let flags = self.b.use_var(self.vars.flags);
        let group = self.get(standard.mcast_grp.word);
        let asked = self.b.ins().bor(flags, group);
        self.leave_if(asked, outcome::END_OF_INGRESS, &kept);
        let port = self.get(standard.egress_spec.word);
        let drop = self.b.ins().icmp_imm(IntCC::Equal, port, DROP_PORT as i64);
        self.answer_if(drop, outcome::DROPPED_IN_INGRESS);

        self.store_constant(standard.instance_type, NORMAL);
        self.store_number(standard.egress_port, port);
        let port = self.b.ins().band_imm(port, 0xffff);
        self.context_store(field!(egress_port), port);
        self.store_constant(standard.egress_spec, 0);
        let length = self.b.use_var(self.vars.length);
        self.store_number(standard.packet_length, length);
        let micros = self.microseconds();
        self.store_number(standard.enq_timestamp, micros);
        self.store_number(standard.egress_global_timestamp, micros);
        for place in [standard.enq_qdepth, standard.deq_timedelta, standard.deq_qdepth] {
            self.store_constant(place, 0);
        }
    }

    /// From a packet that is ready for egress to the frame.
    fn transmit(&mut self) {
        let kept = self.plan.kept();
        self.packet_in_memory(&kept);
        self.egress_and_out();
    }

    fn egress_and_out(&mut self) {
        self.graph(Graph::Egress);
        let kept = self.plan.kept();
        let standard = &self.program.standard_metadata;
        let flags = self.b.use_var(self.vars.flags);
        let asked = self.b.ins().band_imm(flags, (Requests::CLONE | Requests::RECIRCULATE) as i64);
        self.leave_if(asked, outcome::END_OF_EGRESS, &kept);
        let port = self.get(standard.egress_spec.word);
        let drop = self.b.ins().icmp_imm(IntCC::Equal, port, DROP_PORT as i64);
        self.answer_if(drop, outcome::DROPPED_IN_EGRESS);
        self.graph(Graph::ComputeChecksum);
        self.graph(Graph::Deparser);
        self.finish_frame();
        self.answer(outcome::SENT);
    }

    fn leave_if(&mut self, cond: cranelift_codegen::ir::Value, outcome: u64, kept: &Words) {
        self.answer_when(cond, outcome, |b| b.leave_packet(kept));
    }

    fn answer_if(&mut self, cond: cranelift_codegen::ir::Value, outcome: u64) {
        self.answer_when(cond, outcome, |_| {});
    }

    fn answer_when(
        &mut self,
        cond: cranelift_codegen::ir::Value,
        outcome: u64,
        before: impl FnOnce(&mut Self),
    ) {
        let (leave, next) = (self.new_block(), self.new_block());
        self.b.set_cold_block(leave);
        self.b.ins().brif(cond, leave, &[], next, &[]);
        self.enter(leave);
        before(self);
        self.answer(outcome);
        self.enter(next);
    }

    /// One graph over a packet in memory.
    fn single(&mut self, graph: Graph) {
        let mut words = self.plan.touched[graph as usize].clone();
        words.union(&self.plan.outside);
        self.packet_in_memory(&words);
        self.graph(graph);
        self.leave_packet(&words);
        let written = self.b.use_var(self.vars.written);
        self.context_store(field!(out_length), written);
        self.answer(outcome::SENT);
    }

    /// Where a frame's key would be found, as far as the parser alone tells the key.
    fn slot(&mut self, apply: &Apply) {
        self.fresh_packet();
        self.graph(Graph::Parser);
        let (_, slot) = self.first_slot(apply);
        self.b.ins().return_(&[slot]);
    }

    /// The code of a graph; what comes next is behind it.
    fn graph(&mut self, graph: Graph) {
        let cfg = graph.of(self.program);
        if cfg.blocks.is_empty() {
            return;
        }
        let Order { order, cyclic } = order(cfg);
        let known = match graph {
            Graph::Parser => positions(self.program, cfg),
            _ => vec![None; cfg.blocks.len()],
        };
        let blocks: Vec<Block> = cfg.blocks.iter().map(|_| self.new_block()).collect();
        let end = self.new_block();
        (self.graph, self.end) = (graph, end);
        self.frame_flags = frame_memory(!cyclic);
        if cyclic {
            let limit = self.constant(BLOCK_LIMIT);
            self.b.def_var(self.vars.fuel, limit);
        }
        self.b.ins().jump(blocks[0], &[]);
        for id in order {
            let block = blocks[id as usize];
            self.b.switch_to_block(block);
            if !cyclic {
                // All that jump here lie before it in the order.
                self.b.seal_block(block);
            }
            self.position = known[id as usize].unwrap_or(Position::default());
            if cyclic {
                self.burn();
            }
            self.block(cfg, id, &blocks);
        }
        if cyclic {
            self.b.seal_all_blocks();
            self.b.switch_to_block(end);
        } else {
            self.enter(end);
        }
    }

    fn block(&mut self, cfg: &Cfg, id: BlockId, blocks: &[Block]) {
        let block = &cfg.blocks[id as usize];
        for op in &block.ops {
            if self.op(op) == Flow::Ended {
                return;
            }
        }
        self.terminate(&block.terminator, blocks);
    }

    /// Stops a graph that runs in circles.
    fn burn(&mut self) {
        let fuel = self.b.use_var(self.vars.fuel);
        let (empty, next) = (self.new_block(), self.new_block());
        self.b.set_cold_block(empty);
        self.b.ins().brif(fuel, next, &[], empty, &[]);
        self.enter(empty);
        self.count(std::mem::offset_of!(Counts, endless_graphs));
        if self.graph == Graph::Parser {
            self.fail_endless();
        } else {
            let end = self.end;
            self.b.ins().jump(end, &[]);
        }
        self.enter(next);
        let fuel = self.b.ins().iadd_imm(fuel, -1);
        self.b.def_var(self.vars.fuel, fuel);
    }
}

/// Blocks that can be reached, each behind all that lead to it where the graph has no cycle.
struct Order {
    order: Vec<BlockId>,
    cyclic: bool,
}

/// Whether a graph can come back to a block.
pub(crate) fn cyclic(cfg: &Cfg) -> bool {
    !cfg.blocks.is_empty() && order(cfg).cyclic
}

fn order(cfg: &Cfg) -> Order {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; cfg.blocks.len()];
    let (mut order, mut cyclic) = (Vec::new(), false);
    // Depth first without recursion: a block, and how many of its successors have been looked at.
    let mut path = vec![(0u32, successors(&cfg.blocks[0].terminator))];
    marks[0] = Mark::Open;
    while let Some((block, left)) = path.last_mut() {
        match left.pop() {
            None => {
                marks[*block as usize] = Mark::Done;
                order.push(*block);
                path.pop();
            }
            Some(next) => match marks[next as usize] {
                Mark::New => {
                    marks[next as usize] = Mark::Open;
                    path.push((next, successors(&cfg.blocks[next as usize].terminator)));
                }
                Mark::Open => cyclic = true,
                Mark::Done => {}
            },
        }
    }
    order.reverse();
    Order { order, cyclic }
}
