//! Analysis of a program before compilation: which words of the state area stay in memory, which
//! words each graph accesses, and the sizes of buffers.

use netkv_ir::{Apply, Cfg, Expr, FieldList, HashInput, Op, Place, Program, Terminator, Word};

use netkv_dataplane::Graph;

use crate::bounds::Bounds;
use crate::code::reach;
use crate::known::Known;
use crate::variants::{Distinguished, Variants};

/// A set of words of the state area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words(Vec<bool>);

impl Words {
    pub(crate) fn empty(program: &Program) -> Self {
        Self(vec![false; program.state_words as usize])
    }

    pub(crate) fn contains(&self, word: Word) -> bool {
        self.0[word as usize]
    }

    pub(crate) fn add(&mut self, word: Word, words: u32) {
        self.0[word as usize..(word + words) as usize].fill(true);
    }

    pub(crate) fn place(&mut self, place: Place) {
        self.add(place.word, place.words());
    }

    pub(crate) fn field_list(&mut self, list: &FieldList) {
        list.places.iter().for_each(|place| self.place(*place));
        list.regions.iter().for_each(|(word, count)| self.add(*word, *count));
    }

    pub(crate) fn remove(&mut self, word: Word) {
        self.0[word as usize] = false;
    }

    /// Adds the words that a table sets.
    pub(crate) fn apply_results(&mut self, apply: &Apply) {
        self.add(apply.hit, 1);
        self.add(apply.action_run, 1);
        let params = apply.targets.iter().flat_map(|target| &target.params);
        params.for_each(|place| self.place(*place));
    }

    /// The words of the set, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Word> {
        (0..).zip(&self.0).filter(|(_, inside)| **inside).map(|(word, _)| word)
    }

    /// Whether the set has a word of another one.
    pub(crate) fn meets(&self, other: &Words) -> bool {
        self.0.iter().zip(&other.0).any(|(mine, other)| *mine && *other)
    }

    /// The words of the fields of headers.
    pub(crate) fn of_fields(program: &Program, headers: impl IntoIterator<Item = u32>) -> Self {
        let mut words = Self::empty(program);
        for header in headers {
            let header = &program.headers[header as usize];
            words.add(header.base, header.words);
        }
        words
    }

    pub(crate) fn union(&mut self, other: &Words) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine |= other;
        }
    }

    pub(crate) fn intersect(&mut self, other: &Words) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine &= other;
        }
    }
}

/// The result of the analysis.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Words in memory: they are accessed with a run-time index or by a helper. All others are SSA
    /// values.
    pub(crate) in_memory: Words,
    /// Validity of headers, and all words that belong to no header.
    pub(crate) outside_headers: Words,
    /// The largest value of each word.
    pub(crate) bounds: Bounds,
    /// Words that each graph accesses.
    pub(crate) accessed: Vec<Words>,
    /// Words that the switch itself accesses between graphs.
    pub(crate) switch_words: Words,
    /// The egress of a clone without a field list, whose metadata is 0. None if no such clone is
    /// made, or if it cannot be compiled beside the egress of the original.
    pub(crate) egress_of_clone: Option<Cfg>,
    /// Words that a recirculated packet can keep. None if egress recirculates no packet.
    pub(crate) kept_by_recirculation: Option<Words>,
    /// Number of bytes of a recirculated frame that must follow each other in memory. The payload
    /// after them can stay in the frame that it was received in. None if all bytes must.
    pub(crate) recirculated_head: Option<u32>,
    /// Maximum number of bytes of all emitted headers together.
    pub(crate) header_bytes: usize,
    /// Maximum number of words of the keys of a table or select.
    pub(crate) key_words: usize,
    /// Maximum number of words of a digest.
    pub(crate) digest_words: usize,
    /// Maximum number of bytes of the input of a hash.
    pub(crate) hash_bytes: usize,
}

impl Plan {
    pub(crate) fn new(program: &Program) -> Self {
        let in_memory = in_memory(program);
        let mut plan = Self {
            egress_of_clone: egress_of_clone(program, &in_memory),
            in_memory,
            kept_by_recirculation: kept_by_recirculation(program),
            recirculated_head: None,
            bounds: Bounds::new(program),
            outside_headers: outside_headers(program),
            accessed: Vec::new(),
            switch_words: switch_words(program),
            header_bytes: 0,
            key_words: 1,
            digest_words: 1,
            hash_bytes: 8,
        };
        for graph in Graph::ALL {
            plan.accessed.push(accessed_in(program, graph.of(program)));
            plan.buffers(graph.of(program));
        }
        // A header may be emitted more than once.
        for block in &program.deparser.blocks {
            for op in &block.ops {
                plan.header_bytes += match op {
                    Op::Emit(header) => header_bytes(program, *header),
                    Op::EmitStack(stack) => {
                        let stack = &program.stacks[*stack as usize];
                        (stack.first..stack.first + stack.size)
                            .map(|header| header_bytes(program, header))
                            .sum()
                    }
                    _ => 0,
                };
            }
        }
        plan
    }

    /// Words that are live after the code returns to the switch at the end of ingress.
    pub(crate) fn live_after_ingress(&self) -> Words {
        let mut live = self.switch_words.clone();
        for graph in [Graph::Egress, Graph::ComputeChecksum, Graph::Deparser] {
            live.union(&self.accessed[graph as usize]);
        }
        live
    }

    /// Words that are live after the code returns to the switch at the end of egress. A clone passes
    /// egress again, with the headers and the field list of its original.
    pub(crate) fn live_after_egress(&self, program: &Program) -> Words {
        let mut live = Words::empty(program);
        for (word, words) in program.header_words() {
            live.add(word, words);
        }
        live.intersect(&self.accessed[Graph::Egress as usize]);
        for graph in [Graph::ComputeChecksum, Graph::Deparser] {
            live.union(&self.accessed[graph as usize]);
        }
        live.place(program.standard_metadata.egress_spec);
        program.field_lists.iter().for_each(|list| live.field_list(list));
        live
    }

    /// Words that are read after a graph.
    pub(crate) fn read_after(&self, program: &Program, graph: Graph) -> Words {
        let mut live = Words::empty(program);
        let after = Graph::ALL.into_iter().filter(|other| *other as usize > graph as usize);
        after.for_each(|graph| live.union(&self.accessed[graph as usize]));
        if graph as usize <= Graph::Egress as usize {
            live.place(program.standard_metadata.egress_spec);
        }
        live
    }

    /// Sets the number of bytes that this parser reads of a recirculated frame, unless the program
    /// reads the payload as well.
    pub(crate) fn set_recirculated_head(&mut self, program: &Program, parser: &Cfg) {
        let reads_payload = |op: &Op| {
            matches!(
                op,
                Op::VerifyChecksum { with_payload: true, .. }
                    | Op::UpdateChecksum { with_payload: true, .. }
            )
        };
        let blocks = Graph::ALL.into_iter().flat_map(|graph| &graph.of(program).blocks);
        if !blocks.flat_map(|block| &block.ops).any(reads_payload) {
            self.recirculated_head = reach(program, parser);
        }
    }

    fn buffers(&mut self, cfg: &Cfg) {
        let words = |exprs: &[Expr]| -> usize {
            exprs.iter().map(|expr| expr.width().div_ceil(64) as usize).sum()
        };
        let bytes = |data: &[HashInput]| -> usize {
            data.iter().map(|input| input.value.width().div_ceil(8) as usize).sum()
        };
        for block in &cfg.blocks {
            for op in &block.ops {
                match op {
                    Op::Digest { values, .. } => {
                        self.digest_words = self.digest_words.max(words(values));
                    }
                    Op::Hash { data, .. }
                    | Op::VerifyChecksum { data, .. }
                    | Op::UpdateChecksum { data, .. } => {
                        self.hash_bytes = self.hash_bytes.max(bytes(data) + crate::context::SLACK);
                    }
                    _ => {}
                }
            }
            let keys = match &block.terminator {
                Terminator::Select { keys, .. } => keys.as_slice(),
                Terminator::Apply(apply) => &apply.keys,
                _ => &[],
            };
            self.key_words = self.key_words.max(words(keys));
            self.hash_bytes = self.hash_bytes.max(8 * words(keys) + crate::context::SLACK);
        }
    }
}

/// See [`Plan::egress_of_clone`].
fn egress_of_clone(program: &Program, in_memory: &Words) -> Option<Cfg> {
    let clones = |op: &Op| matches!(op, Op::Clone { field_list: None, .. });
    if !program.egress.blocks.iter().flat_map(|block| &block.ops).any(clones)
        || in_memory.iter().next().is_some()
    {
        return None;
    }
    let known = Known::all(program, None).of_clone(program);
    Some(Variants::new(program, &program.egress, known, &Distinguished::none(program))?.cfg)
}

/// See [`Plan::kept_by_recirculation`].
fn kept_by_recirculation(program: &Program) -> Option<Words> {
    let ops = program.egress.blocks.iter().flat_map(|block| &block.ops);
    let lists: Vec<Option<u32>> = ops
        .filter_map(|op| match op {
            Op::Recirculate { field_list } => Some(*field_list),
            _ => None,
        })
        .collect();
    let mut kept = Words::empty(program);
    for list in program.field_lists.iter().filter(|list| lists.contains(&Some(list.id))) {
        kept.field_list(list);
    }
    (!lists.is_empty()).then_some(kept)
}

fn outside_headers(program: &Program) -> Words {
    let mut words = Words(vec![true; program.state_words as usize]);
    for header in &program.headers {
        words.0[header.base as usize..(header.base + header.words) as usize].fill(false);
    }
    for header in &program.headers {
        words.add(header.valid, 1);
    }
    words
}

fn header_bytes(program: &Program, header: u32) -> usize {
    let fields = &program.headers[header as usize].fields;
    fields.iter().map(|field| field.place.width as usize).sum::<usize>().div_ceil(8)
}

/// The words of stacks with run-time indices and of headers with a varbit.
fn in_memory(program: &Program) -> Words {
    let mut memory = Words::empty(program);
    let stack = |memory: &mut Words, id: u32| {
        let stack = &program.stacks[id as usize];
        for header in &program.headers[stack.first as usize..(stack.first + stack.size) as usize] {
            memory.add(header.valid, 1);
            memory.add(header.base, header.words);
        }
    };
    for header in &program.headers {
        if header.fields.iter().any(|field| field.varbit_length.is_some()) {
            memory.add(header.valid, 1);
            memory.add(header.base, header.words);
        }
    }
    let mut by_index = Vec::new();
    for graph in Graph::ALL {
        for block in &graph.of(program).blocks {
            for op in &block.ops {
                match op {
                    Op::StoreElement { stack, index, .. }
                    | Op::SetValidElement { stack, index, .. }
                        if !matches!(index, Expr::Const(_)) =>
                    {
                        by_index.push(*stack);
                    }
                    Op::ExtractNext(stack) => by_index.push(*stack),
                    _ => {}
                }
                op_exprs(op, &mut |expr| indexed(expr, &mut by_index));
            }
            terminator_exprs(&block.terminator, &mut |expr| indexed(expr, &mut by_index));
        }
    }
    by_index.into_iter().for_each(|id| stack(&mut memory, id));
    memory
}

fn indexed(expr: &Expr, stacks: &mut Vec<u32>) {
    if let Expr::LoadElement { stack, index, .. } = expr
        && !matches!(**index, Expr::Const(_))
    {
        stacks.push(*stack);
    }
}

fn switch_words(program: &Program) -> Words {
    let mut words = Words::empty(program);
    let standard = &program.standard_metadata;
    let own = [standard.checksum_error, standard.priority]; // only programs write and read them
    for place in standard.places().filter(|place| !own.contains(place)) {
        words.place(place);
    }
    program.field_lists.iter().for_each(|list| words.field_list(list));
    words
}

/// Calls `visit` for every expression of an operation and for its subexpressions.
fn op_exprs(op: &Op, visit: &mut impl FnMut(&Expr)) {
    match op {
        Op::Assign { value, .. } | Op::AssignSlice { value, .. } => visit_all(value, visit),
        Op::StoreElement { index, value, .. } | Op::RegisterWrite { index, value, .. } => {
            visit_all(index, visit);
            visit_all(value, visit);
        }
        Op::SetValidElement { index, .. }
        | Op::RegisterRead { index, .. }
        | Op::Count { index, .. }
        | Op::ExecuteMeter { index, .. } => visit_all(index, visit),
        Op::ExtractVarbit { bits, .. } | Op::Advance(bits) | Op::Truncate(bits) => {
            visit_all(bits, visit)
        }
        Op::Verify { cond, error } => {
            visit_all(cond, visit);
            visit_all(error, visit);
        }
        Op::Hash { base, data, max, .. } => {
            visit_all(base, visit);
            visit_all(max, visit);
            data.iter().for_each(|input| visit_all(&input.value, visit));
        }
        Op::Random { low, high, .. } => {
            visit_all(low, visit);
            visit_all(high, visit);
        }
        Op::VerifyChecksum { cond, data, checksum, .. } => {
            visit_all(cond, visit);
            visit_all(checksum, visit);
            data.iter().for_each(|input| visit_all(&input.value, visit));
        }
        Op::UpdateChecksum { cond, data, .. } => {
            visit_all(cond, visit);
            data.iter().for_each(|input| visit_all(&input.value, visit));
        }
        Op::Clone { session, .. } => visit_all(session, visit),
        Op::Digest { values, .. } => values.iter().for_each(|value| visit_all(value, visit)),
        Op::Assert(cond) => visit_all(cond, visit),
        _ => {}
    }
}

fn terminator_exprs(terminator: &Terminator, visit: &mut impl FnMut(&Expr)) {
    match terminator {
        Terminator::Branch { cond, .. } => visit_all(cond, visit),
        Terminator::Select { keys, .. } => keys.iter().for_each(|key| visit_all(key, visit)),
        Terminator::Apply(apply) => apply.keys.iter().for_each(|key| visit_all(key, visit)),
        Terminator::Jump(_) | Terminator::Exit => {}
    }
}

/// Calls `visit` for an expression and its subexpressions.
pub(crate) fn visit_all(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => {}
        Expr::LoadElement { index: arg, .. }
        | Expr::Unary { arg, .. }
        | Expr::Slice { arg, .. } => visit_all(arg, visit),
        Expr::Binary { left, right, .. } | Expr::Concat(left, right) => {
            visit_all(left, visit);
            visit_all(right, visit);
        }
        Expr::Mux { cond, then, otherwise } => {
            visit_all(cond, visit);
            visit_all(then, visit);
            visit_all(otherwise, visit);
        }
    }
}

/// The words that an operation writes, and those that it reads other than in expressions.
pub(crate) fn accessed_by(program: &Program, op: &Op) -> Words {
    let mut accessed = Words::empty(program);
    AccessCollector { program, accessed: &mut accessed }.op(op);
    accessed
}

/// The words that an operation may write.
pub(crate) fn written_by(program: &Program, op: &Op) -> Words {
    let mut written = Words::empty(program);
    match op {
        Op::UpdateChecksum { to, .. } | Op::Hash { to, .. } => written.place(*to),
        Op::VerifyChecksum { .. } => written.place(program.standard_metadata.checksum_error),
        Op::Emit(_) | Op::EmitStack(_) => {}
        _ => return accessed_by(program, op),
    }
    written
}

/// The words that the operations of a graph may write, and those that its tables set.
pub(crate) fn written_in(program: &Program, cfg: &Cfg) -> Words {
    let mut written = Words::empty(program);
    for block in &cfg.blocks {
        block.ops.iter().for_each(|op| written.union(&written_by(program, op)));
        if let Terminator::Apply(apply) = &block.terminator {
            written.apply_results(apply);
        }
    }
    written
}

/// The words that a graph accesses.
pub(crate) fn accessed_in(program: &Program, cfg: &Cfg) -> Words {
    let mut accessed = Words::empty(program);
    AccessCollector { program, accessed: &mut accessed }.cfg(cfg);
    accessed
}

/// The words that an operation accesses, with those of its expressions.
pub(crate) fn words_of_op(program: &Program, op: &Op) -> Words {
    let mut accessed = accessed_by(program, op);
    let mut collector = AccessCollector { program, accessed: &mut accessed };
    op_exprs(op, &mut |expr| collector.expr(expr));
    accessed
}

/// The words that the expressions of a terminator read.
pub(crate) fn words_of_terminator(program: &Program, terminator: &Terminator) -> Words {
    let mut accessed = Words::empty(program);
    let mut collector = AccessCollector { program, accessed: &mut accessed };
    terminator_exprs(terminator, &mut |expr| collector.expr(expr));
    accessed
}

/// The words that an operation may read, and all others that it accesses unless it assigns them.
pub(crate) fn read_by(program: &Program, op: &Op) -> Words {
    let mut read = Words::empty(program);
    let mut collector = AccessCollector { program, accessed: &mut read };
    op_exprs(op, &mut |expr| collector.expr(expr));
    if !matches!(op, Op::Assign { .. }) {
        collector.op(op);
    }
    read
}

/// The words that the terminator of a block reads.
pub(crate) fn read_by_terminator(program: &Program, terminator: &Terminator) -> Words {
    let mut read = Words::empty(program);
    let mut collector = AccessCollector { program, accessed: &mut read };
    terminator_exprs(terminator, &mut |expr| collector.expr(expr));
    read
}

/// Collects the words that a graph accesses.
struct AccessCollector<'a> {
    program: &'a Program,
    accessed: &'a mut Words,
}

impl AccessCollector<'_> {
    fn cfg(&mut self, cfg: &Cfg) {
        for block in &cfg.blocks {
            for op in &block.ops {
                op_exprs(op, &mut |expr| self.expr(expr));
                self.op(op);
            }
            terminator_exprs(&block.terminator, &mut |expr| self.expr(expr));
            if let Terminator::Apply(apply) = &block.terminator {
                self.accessed.apply_results(apply);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Load(place) => self.accessed.place(*place),
            Expr::LoadElement { stack, .. } => self.stack(*stack),
            _ => {}
        }
    }

    fn header(&mut self, header: u32) {
        let header = &self.program.headers[header as usize];
        self.accessed.add(header.valid, 1);
        self.accessed.add(header.base, header.words);
    }

    fn stack(&mut self, stack: u32) {
        let stack = &self.program.stacks[stack as usize];
        self.accessed.add(stack.next_index, 1);
        (stack.first..stack.first + stack.size).for_each(|header| self.header(header));
    }

    fn inputs(&mut self, data: &[HashInput]) {
        for input in data {
            input.varbit_length.iter().for_each(|word| self.accessed.add(*word, 1));
            input.header.iter().for_each(|header| self.header(*header));
        }
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Assign { to, .. }
            | Op::AssignSlice { to, .. }
            | Op::Lookahead { to, .. }
            | Op::RegisterRead { to, .. }
            | Op::ExecuteMeter { to, .. }
            | Op::ReadDirectMeter { to, .. }
            | Op::Random { to, .. } => self.accessed.place(*to),
            Op::StoreElement { stack, .. }
            | Op::SetValidElement { stack, .. }
            | Op::PushFront { stack, .. }
            | Op::PopFront { stack, .. }
            | Op::ExtractNext(stack)
            | Op::CheckStackLast(stack)
            | Op::EmitStack(stack) => self.stack(*stack),
            Op::CopyHeader { to, from } => {
                self.header(*to);
                self.header(*from);
            }
            Op::CopyWords { to, from, words } => {
                self.accessed.add(*to, *words);
                self.accessed.add(*from, *words);
            }
            Op::ZeroWords { to, words } => self.accessed.add(*to, *words),
            Op::SetValid(header)
            | Op::SetInvalid(header)
            | Op::Extract(header)
            | Op::ExtractVarbit { header, .. }
            | Op::Emit(header) => self.header(*header),
            Op::Hash { to, data, .. } => {
                self.accessed.place(*to);
                self.inputs(data);
            }
            Op::VerifyChecksum { data, .. } => {
                self.inputs(data);
                self.accessed.place(self.program.standard_metadata.checksum_error);
            }
            Op::UpdateChecksum { data, to, header, .. } => {
                self.accessed.place(*to);
                self.inputs(data);
                header.iter().for_each(|header| self.header(*header));
            }
            Op::MarkToDrop => {
                self.accessed.place(self.program.standard_metadata.egress_spec);
                self.accessed.place(self.program.standard_metadata.mcast_grp);
            }
            Op::Advance(_)
            | Op::Verify { .. }
            | Op::Reject
            | Op::RegisterWrite { .. }
            | Op::Count { .. }
            | Op::Clone { .. }
            | Op::Resubmit { .. }
            | Op::Recirculate { .. }
            | Op::Digest { .. }
            | Op::Truncate(_)
            | Op::Log { .. }
            | Op::Assert(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use netkv_p4::{Options, compile_source};

    use super::*;

    const SOURCE: &str = "
    #include <core.p4>
    #include <v1model.p4>
    header q_t { bit<8> op; bit<8> pad; bit<16> result; }
    header unused_t { bit<8> data; }
    struct headers_t { q_t q; unused_t unused; }
    struct meta_t { @field_list(1) bit<8> kept; bit<8> lost; bit<8> checked; }
    parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
        state start { p.extract(h.q); transition accept; }
    }
    control V(inout headers_t h, inout meta_t m) { apply { } }
    control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
    control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
        apply {
            h.q.pad = m.kept + m.lost;
            m.checked = m.lost;
            clone_preserving_field_list(CloneType.E2E, 3, 1);
        }
    }
    control C(inout headers_t h, inout meta_t m) {
        apply {
            update_checksum(m.checked == 1, { h.q.op }, h.q.result, HashAlgorithm.csum16);
        }
    }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";

    #[test]
    fn metadata_that_only_egress_reads_does_not_outlive_it() {
        let compiled = compile_source("live.p4", SOURCE, &Options::default());
        let program = compiled.unwrap_or_else(|errors| panic!("{errors}")).program;
        let plan = Plan::new(&program);
        let [before, after] = [plan.live_after_ingress(), plan.live_after_egress(&program)];
        let of_field = |at: usize| program.headers[0].fields[at].place.word;
        // The metadata of egress.
        let mut egress = plan.accessed[Graph::Egress as usize].clone();
        program.header_words().for_each(|(word, words)| {
            (word..word + words).for_each(|word| egress.remove(word));
        });
        for place in program.standard_metadata.places() {
            (place.word..place.word + place.words()).for_each(|word| egress.remove(word));
        }
        let kept = program.field_lists[0].places[0].word;
        let read_later = &plan.accessed[Graph::ComputeChecksum as usize];
        let lost: Vec<Word> =
            egress.iter().filter(|word| *word != kept && !read_later.contains(*word)).collect();
        assert!(!lost.is_empty());
        assert!(egress.iter().all(|word| before.contains(word)));
        for word in egress.iter() {
            assert_eq!(after.contains(word), !lost.contains(&word));
        }
        assert!(after.contains(of_field(0)) && after.contains(of_field(1)));
        assert!(after.contains(program.standard_metadata.egress_spec.word));
    }
}
