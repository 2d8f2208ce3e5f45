//! Compiled functions: their start, the graphs that they run, and their end.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use netkv_dataplane::{
    CopyTarget, Counts, DROP_PORT, Graph, NO_LIMIT, NO_LIST, Requests, instance,
};
use netkv_ir::{BlockId, Cfg, Program};

use super::builder::{Builder, field, frame_memory, objects_memory};
use super::cells::remove_unused_loads;
use super::copies::EgressOfCopy;
use super::ops::Flow;
use super::recirculation_start::Origins;
use crate::block_order::{Order, order};
use crate::context::outcome;
use crate::error::CompileError;
use crate::machine::Assembler;
use crate::paths::{Arrival, Stage};
use crate::plan::Plan;
use crate::position::{Position, positions};
use crate::prefetch::Lookup;
use crate::recirculations::Recirculation;
use crate::shapes::Shapes;
use crate::words::Words;

/// Maximum number of blocks that one graph runs for one packet, as in the interpreter.
const BLOCK_LIMIT: u64 = 65_536;

/// The kind of a function.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    /// From a received frame to the sent frame, in a switch with this number of pipelines.
    Forward { pipelines: usize },
    /// The same for frames on the common paths, which begin in this parser.
    Fast { parser: &'a Stage, recirculations: Recirculations<'a>, pipelines: usize },
    /// From the end of egress to the sent frame, for recirculated packets that go on with their
    /// fields. Words of their headers are in the received frame.
    Recirculation {
        recirculations: Recirculations<'a>,
        index: usize,
        origins: Origins,
        pipelines: usize,
    },
    /// From a packet in memory at the start of egress to the sent frame.
    Transmit,
    /// One graph over a packet in memory.
    Graph(Graph),
    /// From the frames that come next to the addresses of the first slots of their lookups in a
    /// table; null if a packet does not come to the lookup.
    Slots(&'a Lookup<'a>),
}

/// The recirculations that packets of a function can go on with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recirculations<'a> {
    pub(super) recirculations: &'a [Recirculation],
    /// The number of the first of them.
    pub(super) first: usize,
    /// How the frames of the packets arrive.
    pub(super) arrival: Arrival,
}

/// A compiled function.
pub(super) struct Unit {
    /// Its number in the machine.
    pub(super) function: usize,
    /// For each recirculation that it knows, the words that are in the received frame, if packets
    /// come there.
    pub(super) origins: Vec<Option<Origins>>,
}

/// Compiles a function.
pub(super) fn compile(
    assembler: &mut Assembler,
    program: &Program,
    plan: &Plan,
    shapes: &Shapes,
    kind: Kind<'_>,
) -> Result<Unit, CompileError> {
    let mut function = assembler.function();
    let b = FunctionBuilder::new(&mut function, &mut assembler.builder_context);
    let mut builder = Builder::new(b, program, plan, shapes);
    match kind {
        Kind::Forward { pipelines } => builder.forward(pipelines),
        Kind::Fast { parser, recirculations, pipelines } => {
            builder.set_recirculations(recirculations.recirculations, recirculations.first);
            builder.fast(parser, recirculations.arrival, pipelines);
        }
        Kind::Recirculation { recirculations, index, origins, pipelines } => {
            builder.set_recirculations(recirculations.recirculations, recirculations.first);
            builder.recirculation(index, &origins, recirculations.arrival, pipelines);
        }
        Kind::Transmit => builder.transmit(),
        Kind::Graph(graph) => builder.single_graph(graph),
        Kind::Slots(lookup) => builder.slot_addresses(lookup),
    }
    builder.b.seal_all_blocks();
    let origins = builder.recirculations.iter_mut().map(|start| start.origins.take()).collect();
    let loads = std::mem::take(&mut builder.cells).into_loads();
    builder.b.finalize();
    remove_unused_loads(&mut function, &loads);
    Ok(Unit { function: assembler.add(function)?, origins })
}

impl Builder<'_> {
    /// Returns from the function.
    pub(super) fn return_outcome(&mut self, outcome: u64) {
        let outcome = self.constant(outcome);
        self.b.ins().return_(&[outcome]);
    }

    /// Initializes the values for a received frame.
    pub(super) fn received_packet(&mut self) {
        let port = self.context_constant(field!(port));
        self.received_from(port);
    }

    /// As [`Builder::received_packet`], with the port that received the frame.
    pub(super) fn received_from(&mut self, port: Value) {
        self.new_packet(&Words::empty(self.program));
        let standard = &self.program.standard_metadata;
        self.store_number(standard.ingress_port, port);
        let micros = self.microseconds();
        self.store_number(standard.ingress_global_timestamp, micros);
    }

    /// Initializes the values for a recirculated frame, as in the switch.
    pub(super) fn recirculated_packet(&mut self) {
        self.new_packet(&Words::empty(self.program));
        self.find_payload();
        let plan = self.plan;
        if let Some(kept) = &plan.kept_by_recirculation {
            self.load_words(kept.iter());
        }
        let standard = &self.program.standard_metadata;
        self.store_constant(standard.instance_type, instance::RECIRCULATED);
    }

    /// Finds the payload of a recirculated frame.
    pub(super) fn find_payload(&mut self) {
        if self.plan.recirculated_head.is_some() {
            self.payload = self.context_constant(field!(payload));
            self.payload_start = Some(self.context_constant(field!(payload_start)));
        }
    }

    /// Initializes all values but these words.
    pub(super) fn new_packet(&mut self, without: &Words) {
        let zero = self.constant(0);
        for word in 0..self.program.state_words {
            if !without.contains(word) {
                self.set(word, zero);
            }
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
        self.store_number(self.program.standard_metadata.packet_length, length);
    }

    fn microseconds(&mut self) -> Value {
        let now = self.context_constant(field!(now_ns));
        self.b.ins().udiv_imm(now, 1_000)
    }

    /// Loads a packet from memory: the state's `words`, and the fields of the context.
    fn load_packet(&mut self, words: &Words) {
        let zero = self.constant(0);
        for word in 0..self.program.state_words {
            if !self.plan.in_memory.contains(word) {
                self.set(word, zero);
            }
        }
        self.load_words(words.iter());
        let vars = self.vars;
        for (var, offset) in self.packet_fields() {
            let value = self.context_load(offset);
            self.b.def_var(var, value);
        }
        self.b.def_var(vars.written, zero);
    }

    fn store_packet(&mut self, words: &Words) {
        self.store_words(words.iter());
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

    /// From a received frame to the sent frame, or to the end of ingress.
    fn forward(&mut self, pipelines: usize) {
        self.received_packet();
        self.graph(Graph::Parser);
        let error = self.get(self.program.standard_metadata.parser_error.word);
        self.emit_if(error, |b| {
            b.count(field!(counts), std::mem::offset_of!(Counts, parser_errors))
        });
        self.graph(Graph::VerifyChecksum);
        self.graph(Graph::Ingress);
        self.end_of_ingress(None);
        if pipelines > 1 {
            self.return_for_other_pipeline(pipelines);
        }
        self.egress_to_frame();
    }

    /// Returns to the switch if the egress port of a packet belongs to another pipeline (see
    /// [`netkv_dataplane::pipeline_of`]).
    pub(super) fn return_for_other_pipeline(&mut self, pipelines: usize) {
        let live_after_ingress = self.plan.live_after_ingress();
        let ports = [self.context_constant(field!(port)), self.context_load(field!(egress_port))];
        let [ingress_pipeline, egress_pipeline] =
            ports.map(|port| self.b.ins().urem_imm(port, pipelines as i64));
        let other = self.b.ins().icmp(IntCC::NotEqual, ingress_pipeline, egress_pipeline);
        let (leave, stay) = (self.new_block(), self.new_block());
        self.b.ins().brif(other, leave, &[], stay, &[]);
        self.enter(leave);
        self.store_packet(&live_after_ingress);
        self.return_outcome(outcome::OTHER_PIPELINE);
        self.enter(stay);
    }

    /// The end of ingress, as in the switch. Dropped packets end here, and packets for one port are
    /// prepared for egress. The others are returned to the switch, unless code makes their copies
    /// and `egress_of_copy` follows.
    pub(super) fn end_of_ingress(&mut self, egress_of_copy: Option<&EgressOfCopy<'_>>) {
        let live_after_ingress = self.plan.live_after_ingress();
        let standard = &self.program.standard_metadata;
        let flags = self.b.use_var(self.vars.flags);
        let group = self.get(standard.mcast_grp.word);
        if !self.is_zero(flags) || !self.is_zero(group) {
            let requested = self.b.ins().bor(flags, group);
            let (leave, next) = (self.new_block(), self.new_block());
            self.b.ins().brif(requested, leave, &[], next, &[]);
            self.enter(leave);
            match egress_of_copy {
                Some(egress) if !self.is_zero(group) => self.multicast(egress),
                _ => self.b.set_cold_block(leave),
            }
            self.store_packet(&live_after_ingress);
            self.return_outcome(outcome::END_OF_INGRESS);
            self.enter(next);
        }
        let port = self.get(standard.egress_spec.word);
        let drop = self.is(port, DROP_PORT);
        self.return_if(drop, outcome::DROPPED_IN_INGRESS);

        self.store_constant(standard.instance_type, instance::NORMAL);
        self.enter_egress(port);
    }

    /// Sets what the switch sets when it enqueues a packet for a port.
    pub(super) fn enter_egress(&mut self, port: Value) {
        let standard = &self.program.standard_metadata;
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

    /// From a packet in memory that is ready for egress to the sent frame.
    fn transmit(&mut self) {
        let live_after_ingress = self.plan.live_after_ingress();
        self.load_packet(&live_after_ingress);
        self.egress_to_frame();
    }

    fn egress_to_frame(&mut self) {
        self.graph(Graph::Egress);
        if let Some(egress) = &self.plan.egress_of_clone {
            let clone = self.new_block();
            let [port, instance] = self.leave_for_clone(clone);
            let original = self.b.current_block().expect("a block follows the branch");
            self.enter(clone);
            self.become_clone(port, instance);
            self.cfg(Graph::Egress, egress);
            self.end_of_egress();
            self.b.switch_to_block(original);
        }
        self.end_of_egress();
    }

    /// Jumps to `clone` if the packet is dropped and has one clone, which code may process. Returns
    /// the port and the instance of the clone.
    pub(super) fn leave_for_clone(&mut self, clone: Block) -> [Value; 2] {
        let standard = &self.program.standard_metadata;
        let [flags, list, session] =
            [self.vars.flags, self.vars.clone_list, self.vars.clone_session]
                .map(|var| self.b.use_var(var));
        let only_clone = self.b.ins().icmp_imm(IntCC::Equal, flags, Requests::CLONE as i64);
        let no_list = self.b.ins().icmp_imm(IntCC::Equal, list, NO_LIST as i64);
        let egress_spec = self.get(standard.egress_spec.word);
        let dropped = self.b.ins().icmp_imm(IntCC::Equal, egress_spec, DROP_PORT as i64);
        let sessions = self.context_constant(field!(clone_sessions));
        let known = self.b.ins().icmp(IntCC::UnsignedLessThan, session, sessions);
        let allowed = self.context_constant(field!(may_clone));
        let mut allowed = self.b.ins().icmp_imm(IntCC::NotEqual, allowed, 0);
        if let Some(copies) = &self.copies {
            // The clone would overtake the copies that follow.
            allowed = self.b.ins().band(allowed, copies.is_last);
        }
        if let Some(unlimited) = self.is_unlimited() {
            allowed = self.b.ins().band(allowed, unlimited);
        }
        let all = [no_list, dropped, known, allowed]
            .into_iter()
            .fold(only_clone, |all, one| self.b.ins().band(all, one));
        let (look_up, original) = (self.new_block(), self.new_block());
        self.b.ins().brif(all, look_up, &[], original, &[]);
        self.enter(look_up);
        let targets = self.context_constant(field!(clone_targets));
        let offset = self.b.ins().imul_imm(session, size_of::<CopyTarget>() as i64);
        let target = self.b.ins().iadd(targets, offset);
        let [port, instance] =
            [std::mem::offset_of!(CopyTarget, port), std::mem::offset_of!(CopyTarget, instance)]
                .map(|at| self.b.ins().load(types::I64, objects_memory(), target, at as i32));
        let unknown = self.b.ins().icmp_imm(IntCC::Equal, port, CopyTarget::NONE.port as i64);
        self.b.ins().brif(unknown, original, &[], clone, &[]);
        self.enter(original);
        [port, instance]
    }

    /// The packet becomes its egress clone without a field list, as in the switch.
    pub(super) fn become_clone(&mut self, port: Value, instance: Value) {
        let (zero, one, none) = (self.constant(0), self.constant(1), self.constant(NO_LIST));
        self.context_store(field!(cloned), one);
        let mut of_headers = vec![false; self.program.state_words as usize];
        for (word, words) in self.program.header_words() {
            of_headers[word as usize..(word + words) as usize].fill(true);
        }
        for (word, of_header) in (0..).zip(of_headers) {
            if !of_header {
                self.set(word, zero);
            }
        }
        let vars = self.vars;
        for var in [vars.flags, vars.clone_session, vars.digest] {
            self.b.def_var(var, zero);
        }
        for var in [vars.clone_list, vars.resubmit_list, vars.recirculate_list, vars.truncate] {
            self.b.def_var(var, none);
        }
        let standard = &self.program.standard_metadata;
        self.store_constant(standard.instance_type, instance::EGRESS_CLONE);
        self.store_number(standard.egress_rid, instance);
        self.enter_egress(port);
    }

    /// Returns after the egress graph if the packet is dropped, or if the switch continues with it.
    pub(super) fn leave_egress(&mut self) {
        let live_after_ingress = self.plan.live_after_ingress();
        let live_after_egress = self.plan.live_after_egress(self.program);
        let standard = &self.program.standard_metadata;
        let flags = self.b.use_var(self.vars.flags);
        if !self.is_zero(flags) {
            let mut requested =
                self.b.ins().band_imm(flags, (Requests::CLONE | Requests::RECIRCULATE) as i64);
            if let Some(recirculates) = self.recirculates() {
                let zero = self.constant(0);
                requested = self.b.ins().select(recirculates, zero, requested);
            }
            self.return_after(requested, outcome::END_OF_EGRESS, |b| {
                b.store_packet(&live_after_egress);
                b.return_copy(&live_after_ingress);
            });
        }
        let port = self.get(standard.egress_spec.word);
        let drop = self.is(port, DROP_PORT);
        self.return_after(drop, outcome::DROPPED_IN_EGRESS, Self::follow_dropped);
    }

    /// From the end of the egress graph to the sent frame.
    fn end_of_egress(&mut self) {
        self.leave_egress();
        self.sent_or_recirculated(None, &|b| {
            b.graph(Graph::ComputeChecksum);
            b.start_frame();
            b.graph(Graph::Deparser);
            b.end_frame();
        });
    }

    /// Compiles the rest of the way to the frame, a second time for packets that are recirculated
    /// if there are some, unless they can go on with this recirculation.
    pub(super) fn sent_or_recirculated(
        &mut self,
        recirculation: Option<usize>,
        rest: &dyn Fn(&mut Self),
    ) {
        if let Some(recirculates) = self.recirculates() {
            let (again, sent) = (self.new_block(), self.new_block());
            self.b.ins().brif(recirculates, again, &[], sent, &[]);
            self.enter(again);
            if !recirculation.is_some_and(|recirculation| self.begin_recirculation(recirculation)) {
                self.recirculated = true;
                rest(self);
                self.recirculated = false;
            }
            self.enter(sent);
        }
        rest(self);
    }

    /// Whether the packet is recirculated, and no more is requested. None if it never is.
    fn recirculates(&mut self) -> Option<Value> {
        let flags = self.b.use_var(self.vars.flags);
        if self.is_zero(flags) || self.plan.kept_by_recirculation.is_none() {
            return None;
        }
        let only = self.b.ins().icmp_imm(IntCC::Equal, flags, Requests::RECIRCULATE as i64);
        // The copies that follow pass egress before this one comes back.
        let only = match &self.copies {
            Some(copies) => self.b.ins().band(only, copies.is_last),
            None => only,
        };
        Some(match self.is_unlimited() {
            Some(unlimited) => self.b.ins().band(only, unlimited),
            None => only,
        })
    }

    /// Whether the program has not limited the length of the packet: only then code makes its
    /// copies and recirculates it. None if it surely has not.
    pub(super) fn is_unlimited(&mut self) -> Option<Value> {
        let limit = self.b.use_var(self.vars.truncate);
        if self.number(limit) == Some(NO_LIMIT) {
            return None;
        }
        Some(self.b.ins().icmp_imm(IntCC::Equal, limit, NO_LIMIT as i64))
    }

    /// Chooses the buffer for the output of the deparser.
    pub(super) fn start_frame(&mut self) {
        let buffer = if self.recirculated { field!(again) } else { field!(out) };
        self.out = self.context_load(buffer);
    }

    /// Ends with the frame sent or recirculated.
    pub(super) fn end_frame(&mut self) {
        if self.recirculated {
            self.finish_recirculated_frame();
            let [flags, list] =
                [self.vars.flags, self.vars.recirculate_list].map(|var| self.b.use_var(var));
            let kept = self.kept_words(list);
            self.return_recirculated(flags, list, &kept);
        } else {
            self.finish_frame();
            self.return_sent();
        }
    }

    fn return_if(&mut self, cond: Value, outcome: u64) {
        self.return_after(cond, outcome, |_| {});
    }

    fn return_after(&mut self, cond: Value, outcome: u64, before: impl FnOnce(&mut Self)) {
        if self.is_zero(cond) {
            return;
        }
        let (leave, next) = (self.new_block(), self.new_block());
        self.b.set_cold_block(leave);
        self.b.ins().brif(cond, leave, &[], next, &[]);
        self.enter(leave);
        before(self);
        self.return_outcome(outcome);
        self.enter(next);
    }

    /// One graph over a packet in memory.
    fn single_graph(&mut self, graph: Graph) {
        let mut words = self.plan.accessed[graph as usize].clone();
        words.union(&self.plan.switch_words);
        self.load_packet(&words);
        self.graph(graph);
        self.store_packet(&words);
        let written = self.b.use_var(self.vars.written);
        self.context_store(field!(out_length), written);
        self.return_outcome(outcome::SENT);
    }

    /// Compiles a graph. The current block is then the one that follows it.
    pub(super) fn graph(&mut self, graph: Graph) {
        self.cfg(graph, graph.of(self.program));
    }

    /// As [`Builder::graph`], with a simpler form of the graph.
    fn cfg(&mut self, graph: Graph, cfg: &Cfg) {
        if cfg.blocks.is_empty() {
            return;
        }
        let end = self.new_block();
        let cyclic = self.blocks(graph, cfg, end, &vec![end; cfg.blocks.len()]);
        if cyclic {
            self.b.seal_all_blocks();
            self.b.switch_to_block(end);
        } else {
            self.enter(end);
        }
    }

    /// Compiles the blocks of a graph that has some. `exits` has the block that follows each of
    /// them if it ends the graph, and `error` follows a parser with an error. Returns whether the
    /// graph has a cycle.
    pub(super) fn blocks(
        &mut self,
        graph: Graph,
        cfg: &Cfg,
        error: Block,
        exits: &[Block],
    ) -> bool {
        let Order { order, cyclic } = order(cfg);
        let positions_at_start = match graph {
            Graph::Parser => positions(self.program, cfg),
            _ => vec![None; cfg.blocks.len()],
        };
        let blocks: Vec<Block> = cfg.blocks.iter().map(|_| self.new_block()).collect();
        (self.graph, self.end) = (graph, error);
        self.frame_flags = frame_memory(!cyclic);
        if cyclic {
            let limit = self.constant(BLOCK_LIMIT);
            self.b.def_var(self.vars.fuel, limit);
        }
        self.b.ins().jump(blocks[0], &[]);
        self.cells.start_graph(cyclic);
        for id in order {
            let block = blocks[id as usize];
            self.b.switch_to_block(block);
            if !cyclic {
                // All predecessors are before it in the order.
                self.b.seal_block(block);
                if self.is_unreachable() {
                    self.never();
                    continue;
                }
            }
            self.position = positions_at_start[id as usize].unwrap_or(Position::default());
            self.exit = exits[id as usize];
            if cyclic {
                self.consume_fuel();
            }
            self.block(cfg, id, &blocks);
        }
        cyclic
    }

    fn block(&mut self, cfg: &Cfg, id: BlockId, blocks: &[Block]) {
        let block = &cfg.blocks[id as usize];
        for op in &block.ops {
            if self.op(op) == Flow::Ended {
                return;
            }
        }
        self.write_headers();
        self.terminate(&block.terminator, blocks);
    }

    /// Ends a graph that exceeds the block limit.
    fn consume_fuel(&mut self) {
        let fuel = self.b.use_var(self.vars.fuel);
        let (empty, next) = (self.new_block(), self.new_block());
        self.b.set_cold_block(empty);
        self.b.ins().brif(fuel, next, &[], empty, &[]);
        self.enter(empty);
        self.count(field!(counts), std::mem::offset_of!(Counts, endless_graphs));
        if self.graph == Graph::Parser {
            self.fail_on_block_limit();
        } else {
            let exit = self.exit;
            self.b.ins().jump(exit, &[]);
        }
        self.enter(next);
        let fuel = self.b.ins().iadd_imm(fuel, -1);
        self.b.def_var(self.vars.fuel, fuel);
    }
}
