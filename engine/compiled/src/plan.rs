//! Analysis of a program before compilation: which words of the state area stay in memory, which
//! are live after each graph, and the sizes of buffers.

use netkv_ir::{Cfg, Expr, HashInput, Op, Program, Terminator};

use netkv_dataplane::Graph;

use crate::bounds::Bounds;
use crate::checksum_lists::adds_words;
use crate::known::Known;
use crate::position::reach;
use crate::variants::{Distinguished, Variants};
use crate::words::{Words, accessed_in, op_exprs, terminator_exprs};

/// The result of the analysis.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Words in memory: they are accessed with a run-time index or by a helper. All others are SSA
    /// values.
    pub(crate) in_memory: Words,
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

    /// Words that are live after the code returns to the switch at the end of egress. A clone
    /// passes egress again, with the headers and the field list of its original.
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
            // Code that sums words finds the payload wherever it is.
            matches!(
                op,
                Op::VerifyChecksum { with_payload: true, data, algorithm, .. }
                    | Op::UpdateChecksum { with_payload: true, data, algorithm, .. }
                    if !adds_words(*algorithm, data)
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

#[cfg(test)]
mod tests {
    use crate::program_of::program_of;
    use netkv_ir::Word;

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
        let program = program_of(SOURCE);
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
