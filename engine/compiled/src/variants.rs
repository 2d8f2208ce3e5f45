//! Variants of the blocks of a graph by what is known of a packet on the path to them.
//!
//! A block that paths with different facts reach is copied, so that each copy knows its facts:
//! which headers are valid, and which constants a parser assigned. Branches that the facts decide
//! become jumps. The graph is then longer, and a packet takes fewer tests and keeps fewer values.

use netkv_ir::{Block, BlockId, Cfg, Program, Span, Terminator, Word};

use crate::block_order::topological_order;
use crate::groups::{Weights, groups};
use crate::known::Known;
use crate::liveness::live_words;
use crate::words::Words;

/// What distinguishes variants.
pub(crate) struct Distinguished {
    /// The words whose values do.
    pub(crate) weights: Weights,
    /// The words that are read after the graph.
    pub(crate) live_after: Words,
    /// Maximum number of variants of a block.
    pub(crate) limit: usize,
    /// Paths on which this word is known are left out: they lead to a block that ends the graph and
    /// is no exit.
    pub(crate) left_out: Option<Word>,
}

impl Distinguished {
    /// Nothing: every block has one variant.
    pub(crate) fn none(program: &Program) -> Self {
        Self {
            weights: Weights::none(program),
            live_after: Words::empty(program),
            limit: 1,
            left_out: None,
        }
    }
}

/// A graph with variants.
#[derive(Debug, Clone)]
pub(crate) struct Variants {
    pub(crate) cfg: Cfg,
    /// The blocks that end the graph, and what is known there.
    pub(crate) exits: Vec<(BlockId, Known)>,
}

impl Variants {
    /// The variants of a graph with these facts at its start. `None` if the graph has a cycle.
    pub(crate) fn new(
        program: &Program,
        cfg: &Cfg,
        at_start: Known,
        distinguished: &Distinguished,
    ) -> Option<Self> {
        let mut copies = Copies {
            program,
            left_out: distinguished.left_out,
            arrived: vec![Vec::new(); cfg.blocks.len()],
            final_id: Vec::new(),
            blocks: Vec::new(),
            exits: Vec::new(),
        };
        if cfg.blocks.is_empty() {
            copies.exits.push((0, at_start));
        } else {
            copies.arrive(0, at_start);
        }
        let order = topological_order(cfg)?;
        let live = live_words(program, cfg, &order, &distinguished.live_after);
        for id in order {
            let arrived = std::mem::take(&mut copies.arrived[id as usize]);
            let Distinguished { weights, limit, .. } = distinguished;
            // Blocks that no path reaches have no variant.
            for group in groups(arrived, weights, &live[id as usize], *limit) {
                let copy = copies.blocks.len() as BlockId;
                group.members.into_iter().for_each(|at| copies.final_id[at] = copy);
                copies.copy(&cfg.blocks[id as usize], group.known);
            }
        }
        let Copies { final_id, mut blocks, exits, .. } = copies;
        // The block of paths that are left out.
        let nowhere = blocks.len() as BlockId;
        if final_id.contains(&BlockId::MAX) {
            blocks.push(Block {
                label: String::new(),
                ops: Vec::new(),
                spans: Vec::new(),
                terminator: Terminator::Exit,
                terminator_span: Span::default(),
            });
        }
        for block in &mut blocks {
            retarget(&mut block.terminator, |arrival| final_id[arrival as usize].min(nowhere));
        }
        Some(Self { cfg: Cfg { blocks }, exits })
    }

    /// The numbers of the exits in the order in which a search finds them that tries cases in the
    /// order of the source. A program names the common cases first.
    pub(crate) fn in_order_of_cases(&self) -> Vec<usize> {
        let mut seen = vec![false; self.cfg.blocks.len()];
        let mut found = Vec::new();
        let mut open: Vec<BlockId> = self.cfg.blocks.first().map(|_| 0).into_iter().collect();
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id as usize], true) {
                continue;
            }
            found.extend(self.exits.iter().position(|(exit, _)| *exit == id));
            open.extend(self.cfg.blocks[id as usize].terminator.successors().iter().rev());
        }
        found
    }
}

/// The copies of blocks so far. Their terminators name arrivals; each becomes the copy that the
/// arrival belongs to.
struct Copies<'a> {
    program: &'a Program,
    left_out: Option<Word>,
    /// For each block of the original, the paths to it and what they know.
    arrived: Vec<Vec<(usize, Known)>>,
    /// The copy of each arrival.
    final_id: Vec<BlockId>,
    blocks: Vec<Block>,
    exits: Vec<(BlockId, Known)>,
}

impl Copies<'_> {
    fn arrive(&mut self, at: BlockId, known: Known) -> BlockId {
        let arrival = self.final_id.len();
        self.final_id.push(BlockId::MAX);
        if self.left_out.is_none_or(|word| known.get(word).is_none()) {
            self.arrived[at as usize].push((arrival, known));
        }
        arrival as BlockId
    }

    fn copy(&mut self, original: &Block, mut known: Known) {
        let mut block = original.clone();
        (block.ops, block.spans) = (Vec::new(), Vec::new());
        for (op, span) in original.ops.iter().zip(&original.spans) {
            if known.is_void(op) {
                continue;
            }
            block.ops.push(op.clone());
            block.spans.push(*span);
            if known.ends_parser(op) {
                // The parser ends here, and not by its last block.
                block.terminator = Terminator::Exit;
                self.blocks.push(block);
                return;
            }
            known.run(self.program, op);
        }
        block.terminator = match &original.terminator {
            Terminator::Jump(next) => Terminator::Jump(self.arrive(*next, known)),
            Terminator::Branch { cond, then, otherwise } => match known.value(cond) {
                Some(holds) => {
                    let next = if holds != 0 { *then } else { *otherwise };
                    Terminator::Jump(self.arrive(next, known))
                }
                None => {
                    let [yes, no] = [true, false].map(|holds| {
                        let mut known = known.clone();
                        known.assume(cond, holds);
                        known
                    });
                    let then = self.arrive(*then, yes);
                    let otherwise = self.arrive(*otherwise, no);
                    Terminator::Branch { cond: cond.clone(), then, otherwise }
                }
            },
            Terminator::Select { keys, cases, default } => {
                let mut left = Vec::new();
                let mut last = *default;
                for case in cases {
                    match known.matches(keys, &case.patterns) {
                        Some(false) => {}
                        Some(true) => {
                            last = case.target;
                            break;
                        }
                        None => {
                            let mut known = known.clone();
                            known.assume_case(keys, &case.patterns);
                            let mut case = case.clone();
                            case.target = self.arrive(case.target, known);
                            left.push(case);
                        }
                    }
                }
                let last = self.arrive(last, known);
                if left.is_empty() {
                    Terminator::Jump(last)
                } else {
                    Terminator::Select { keys: keys.clone(), cases: left, default: last }
                }
            }
            Terminator::Apply(apply) => {
                let mut copy = apply.clone();
                for (index, target) in copy.targets.iter_mut().enumerate() {
                    let mut known = known.clone();
                    known.run_action(apply, index);
                    target.block = self.arrive(target.block, known);
                }
                Terminator::Apply(copy)
            }
            Terminator::Exit => {
                self.exits.push((self.blocks.len() as BlockId, known));
                Terminator::Exit
            }
        };
        self.blocks.push(block);
    }
}

fn retarget(terminator: &mut Terminator, copy_of: impl Fn(BlockId) -> BlockId) {
    match terminator {
        Terminator::Jump(next) => *next = copy_of(*next),
        Terminator::Branch { then, otherwise, .. } => {
            (*then, *otherwise) = (copy_of(*then), copy_of(*otherwise));
        }
        Terminator::Select { cases, default, .. } => {
            cases.iter_mut().for_each(|case| case.target = copy_of(case.target));
            *default = copy_of(*default);
        }
        Terminator::Apply(apply) => {
            apply.targets.iter_mut().for_each(|target| target.block = copy_of(target.block));
        }
        Terminator::Exit => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use netkv_dataplane::Graph;
    use netkv_ir::{Expr, Op, Place};
    use netkv_p4::{Options, compile_file};

    use super::*;
    use crate::plan::Plan;
    use crate::program_of::program_of;

    const SOURCE: &str = "
    #include <core.p4>
    #include <v1model.p4>
    header q_t { bit<8> op; bit<8> result; }
    struct headers_t { q_t q; }
    struct meta_t { bit<8> a; bit<8> b; bit<1> c; bit<8> d; bit<96> wide; }
    parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
        state start { p.extract(h.q); transition accept; }
    }
    control V(inout headers_t h, inout meta_t m) { apply { } }
    control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
    control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
        register<bit<8>>(4) r;
        action set(bit<8> value) { m.d = value; }
        action keep() { }
        table t { key = { h.q.op: exact; } actions = { set; keep; } }
        apply { BODY }
    }
    control C(inout headers_t h, inout meta_t m) { apply { } }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";

    /// How many constants are assigned to `h.q.result` in the blocks of egress that are left, if
    /// all metadata is 0 and headers are unknown.
    fn outcomes(body: &str) -> Vec<u64> {
        outcomes_of(body, Distinguished::none)
    }

    fn outcomes_of(body: &str, distinguished: impl Fn(&Program) -> Distinguished) -> Vec<u64> {
        let source = SOURCE.replace("BODY", body);
        let program = program_of(&source);
        let mut known = Known::all(&program, Some(0));
        for (word, words) in program.header_words() {
            known.forget(word, words);
        }
        let out: Place = program.headers[0].fields[1].place;
        let egress = Graph::Egress.of(&program);
        let simpler = Variants::new(&program, egress, known, &distinguished(&program)).unwrap();
        let mut found = Vec::new();
        for id in topological_order(&simpler.cfg).unwrap() {
            for op in &simpler.cfg.blocks[id as usize].ops {
                if let Op::Assign { to, value: Expr::Const(value) } = op
                    && *to == out
                {
                    found.push(value.words[0]);
                }
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn known_metadata_decides_branches() {
        let known = "if (m.a == 0) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(known), [1]);
        let combined = "if (m.a != 0 && h.q.op == 1) { h.q.result = 1; }
            if (m.c == 1 || m.b > 3) { h.q.result = 2; } else { h.q.result = 3; }";
        assert_eq!(outcomes(combined), [3]);
        let computed = "m.a = (m.b + 3) ^ 1; if (m.a[1:0] ++ m.c == 4) { h.q.result = 1; }
            if (m.a == 2) { h.q.result = 2; } if (~m.a == 253) { h.q.result = 3; }";
        assert_eq!(outcomes(computed), [1, 2, 3]);
        assert_eq!(
            outcomes("if (m.b - 1 == 255) { h.q.result = 1; } else { h.q.result = 2; }"),
            [1]
        );
    }

    /// The pass of an answer's clone costs nothing but its end.
    #[test]
    fn nothing_is_left_of_the_egress_of_clones_in_programs_that_ship() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
        let options = Options { include_dirs: vec![folder.clone()], ..Options::default() };
        let files = |folder: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        let mut with_clones = 0;
        for file in files(&folder).iter().filter(|it| it.is_dir()).flat_map(|it| files(it)) {
            // Programs of one folder may include their switch.
            let text = std::fs::read_to_string(&file).unwrap();
            if !text.contains("V1Switch(") && !text.contains("switch.p4\"") {
                continue;
            }
            let program = compile_file(&file, &options).unwrap().program;
            let Some(egress) = Plan::new(&program).egress_of_clone else { continue };
            let blocks = topological_order(&egress).unwrap();
            let left = blocks.iter().any(|id| !egress.blocks[*id as usize].ops.is_empty());
            assert!(!left, "{}", file.display());
            with_clones += 1;
        }
        assert!(with_clones >= 3, "{with_clones}");
    }

    #[test]
    fn headers_and_results_of_externs_and_tables_are_unknown() {
        let header = "if (h.q.op == 0) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(header), [1, 2]);
        let register = "r.read(m.a, 0); if (m.a == 0) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(register), [1, 2]);
        let table = "t.apply(); if (m.d == 0) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(table), [1, 2]);
        let hit = "if (t.apply().hit) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(hit), [1, 2]);
        let slice =
            "m.a[3:0] = h.q.op[3:0]; if (m.a == 0) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(slice), [1, 2]);
        let wide =
            "m.wide = m.wide + 1; if (m.wide == 1) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(wide), [1, 2], "wide values are not followed");
    }

    #[test]
    fn values_that_differ_between_paths_are_unknown() {
        let differ = "if (h.q.op == 1) { m.a = 1; } else { m.b = 7; }
            if (m.a == 0) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(differ), [1, 2]);
        let equal = "if (h.q.op == 1) { m.a = 1; m.b = 7; } else { m.b = 7; }
            if (m.b == 7) { h.q.result = 3; } else { h.q.result = 4; }";
        assert_eq!(outcomes(equal), [3]);
        // The path that sets m.a is never taken.
        let never = "if (m.c == 1) { m.a = 1; }
            if (m.a == 0) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(never), [1]);
    }

    /// Variants by all words, so many of a block.
    fn by_all(limit: usize) -> impl Fn(&Program) -> Distinguished {
        move |program| {
            let (mut weights, mut live_after) = (Weights::none(program), Words::empty(program));
            (0..program.state_words).for_each(|word| weights.add(word, 1));
            live_after.add(0, program.state_words);
            Distinguished { weights, live_after, limit, left_out: None }
        }
    }

    #[test]
    fn a_block_has_a_variant_for_each_fact() {
        let differ = "if (h.q.op == 1) { m.a = 1; } else { m.a = 2; }
            h.q.result = 9;
            r.write(0, h.q.result);
            if (m.a == 1) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes_of(differ, by_all(2)), [1, 2, 9, 9]);
        assert_eq!(outcomes_of(differ, by_all(1)), [1, 2, 9]);
        // The third value of m.a is one too many; that of m.b still distinguishes.
        let three = "if (h.q.op == 1) { m.a = 1; m.b = 1; } else {
                if (h.q.op == 2) { m.a = 2; m.b = 1; } else { m.a = 3; m.b = 2; }
            }
            h.q.result = 9;
            r.write(0, h.q.result);
            if (m.b == 1) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes_of(three, by_all(2)), [1, 2, 9, 9]);
    }

    #[test]
    fn conditions_and_cases_are_known_on_their_path() {
        let condition = "if (h.q.op == 4 && m.d == 0) {
            if (h.q.op == 4) { h.q.result = 1; } else { h.q.result = 2; }
        } else { if (h.q.op == 4) { h.q.result = 3; } else { h.q.result = 4; } }";
        assert_eq!(outcomes(condition), [1, 3, 4], "that a value is another is not known");
        let either = "t.apply(); if (h.q.op == 4 || m.d == 5) { h.q.result = 1; } else {
            if (m.d == 5) { h.q.result = 4; } else { h.q.result = 5; }
        }";
        assert_eq!(outcomes(either), [1, 4, 5]);
        let case = "switch (h.q.op) {
            4: { if (h.q.op == 4) { h.q.result = 1; } else { h.q.result = 2; } }
            5: { if (h.q.op == 4) { h.q.result = 3; } else { h.q.result = 4; } }
            default: { h.q.result = 5; }
        }";
        assert_eq!(outcomes(case), [1, 4, 5]);
        let decided = "m.a = 5; switch (m.a) {
            4: { h.q.result = 1; } 5: { h.q.result = 2; } default: { h.q.result = 3; }
        }";
        assert_eq!(outcomes(decided), [2]);
        let action = "switch (t.apply().action_run) {
            set: { if (m.d == 0) { h.q.result = 1; } else { h.q.result = 2; } }
            keep: { h.q.result = 3; }
        }";
        assert_eq!(outcomes(action), [1, 2, 3]);
    }

    #[test]
    fn what_a_copy_shows_is_known_of_its_original_until_one_is_written() {
        let then = "if (h.q.op == 4) { h.q.result = 1; } else { h.q.result = 2; }";
        for (before, expected) in [
            ("m.a = h.q.op;", vec![1, 3]),
            ("m.a = h.q.op; h.q.op = h.q.result;", vec![1, 2, 3]),
            ("m.a = h.q.op; m.a = m.a + h.q.result;", vec![1, 2, 3]),
            ("m.a = h.q.op; t.apply();", vec![1, 3]),
            ("m.d = h.q.op; t.apply(); m.a = m.d;", vec![1, 2, 3]),
            ("if (h.q.result == 1) { m.a = h.q.op; }", vec![1, 2, 3]),
        ] {
            let body = format!(
                "{before} switch (m.a) {{ 4: {{ {then} }} default: {{ h.q.result = 3; }} }}"
            );
            assert_eq!(outcomes(&body), expected, "{before}");
        }
    }

    #[test]
    fn validity_is_known() {
        let valid = "h.q.setInvalid(); if (h.q.isValid()) { m.a = 1; } else { m.a = 2; }
            h.q.setValid(); if (h.q.isValid() && m.a == 2) { h.q.result = 1; } else { h.q.result = 2; }";
        assert_eq!(outcomes(valid), [1]);
    }
}
