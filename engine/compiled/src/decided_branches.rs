//! Branches that are decided when the values of some words are known at the start of a graph.

use netkv_ir::{BinaryOp, BlockId, Cfg, Expr, Op, Program, Terminator, UnaryOp, Word};

use crate::code::{mask, topological_order};
use crate::plan::accessed_by;

/// What is known of each word of the state area.
pub(crate) type Known = Vec<Option<u64>>;

/// A graph with jumps in place of the branches that the known values decide. `None` if the graph has
/// a cycle.
pub(crate) fn decide_branches(program: &Program, cfg: &Cfg, at_start: Known) -> Option<Cfg> {
    let mut simpler = cfg.clone();
    let mut at: Vec<Option<Known>> = vec![None; cfg.blocks.len()];
    if let Some(first) = at.first_mut() {
        *first = Some(at_start);
    }
    for id in topological_order(cfg)? {
        // Blocks that no path reaches have no values.
        let Some(mut known) = at[id as usize].take() else { continue };
        let block = &mut simpler.blocks[id as usize];
        block.ops.iter().for_each(|op| run(program, op, &mut known));
        let next: Vec<BlockId> = match &block.terminator {
            Terminator::Branch { cond, then, otherwise } => match value(cond, &known) {
                Some(holds) => {
                    let next = if holds != 0 { *then } else { *otherwise };
                    block.terminator = Terminator::Jump(next);
                    vec![next]
                }
                None => vec![*then, *otherwise],
            },
            Terminator::Jump(next) => vec![*next],
            Terminator::Select { cases, default, .. } => {
                cases.iter().map(|case| case.target).chain([*default]).collect()
            }
            Terminator::Apply(apply) => {
                let params = apply.targets.iter().flat_map(|target| &target.params);
                params.for_each(|place| forget(&mut known, place.word, place.words()));
                forget(&mut known, apply.hit, 1);
                forget(&mut known, apply.action_run, 1);
                apply.targets.iter().map(|target| target.block).collect()
            }
            Terminator::Exit => vec![],
        };
        next.into_iter().for_each(|next| join(&mut at[next as usize], &known));
    }
    Some(simpler)
}

fn forget(known: &mut Known, word: Word, words: u32) {
    known[word as usize..(word + words) as usize].fill(None);
}

/// Adds the values on a further path to a block.
fn join(at: &mut Option<Known>, other: &Known) {
    match at {
        None => *at = Some(other.clone()),
        Some(known) => {
            for (mine, other) in known.iter_mut().zip(other) {
                *mine = mine.filter(|value| *other == Some(*value));
            }
        }
    }
}

fn run(program: &Program, op: &Op, known: &mut Known) {
    let assigned = match op {
        Op::Assign { to, value: from } if to.width <= 64 => Some((to.word, value(from, known))),
        _ => None,
    };
    accessed_by(program, op).iter().for_each(|word| known[word as usize] = None);
    if let Op::ZeroWords { to, words } = op {
        known[*to as usize..(*to + *words) as usize].fill(Some(0));
    }
    if let Some((word, value)) = assigned {
        known[word as usize] = value;
    }
}

/// The value of an expression of at most 64 bits, if it is known.
fn value(expr: &Expr, known: &Known) -> Option<u64> {
    let width = expr.width();
    if width > 64 {
        return None;
    }
    match expr {
        Expr::Const(value) => Some(value.words[0]),
        Expr::Load(place) => known[place.word as usize],
        Expr::Unary { op, arg, .. } => {
            let value = value(arg, known)?;
            match op {
                UnaryOp::Not => Some(!value & mask(width)),
                UnaryOp::Neg => Some(value.wrapping_neg() & mask(width)),
                UnaryOp::ZeroExtend => Some(value & mask(width)),
                UnaryOp::SignExtend => None,
            }
        }
        Expr::Binary { op, left, right, .. } => {
            if left.width() > 64 || right.width() > 64 {
                return None;
            }
            binary(*op, value(left, known), value(right, known), mask(left.width()))
        }
        Expr::Mux { cond, then, otherwise } => {
            value(if value(cond, known)? != 0 { then } else { otherwise }, known)
        }
        Expr::Slice { arg, low, .. } => Some((value(arg, known)? >> low) & mask(width)),
        Expr::Concat(left, right) => {
            let shift = right.width();
            let (left, right) = (value(left, known)?, value(right, known)?);
            Some(left.checked_shl(shift).unwrap_or(0) | right)
        }
        Expr::LoadElement { .. } | Expr::PacketLength => None,
    }
}

/// An operation on operands with the bits of `all`. One operand may decide it.
fn binary(op: BinaryOp, left: Option<u64>, right: Option<u64>, all: u64) -> Option<u64> {
    match (op, left, right) {
        (BinaryOp::And, Some(0), _) | (BinaryOp::And, _, Some(0)) => return Some(0),
        (BinaryOp::Or, Some(ones), _) | (BinaryOp::Or, _, Some(ones)) if ones == all => {
            return Some(all);
        }
        (BinaryOp::LtUnsigned, _, Some(0)) => return Some(0),
        _ => {}
    }
    let (left, right) = (left?, right?);
    match op {
        BinaryOp::Add => Some(left.wrapping_add(right) & all),
        BinaryOp::Sub => Some(left.wrapping_sub(right) & all),
        BinaryOp::And => Some(left & right),
        BinaryOp::Or => Some(left | right),
        BinaryOp::Xor => Some(left ^ right),
        BinaryOp::Eq => Some(u64::from(left == right)),
        BinaryOp::Ne => Some(u64::from(left != right)),
        BinaryOp::LtUnsigned => Some(u64::from(left < right)),
        BinaryOp::LeUnsigned => Some(u64::from(left <= right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use netkv_dataplane::Graph;
    use netkv_ir::Place;
    use netkv_p4::{Options, compile_file, compile_source};

    use super::*;
    use crate::plan::Plan;

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

    /// How many constants are assigned to `h.q.result` in the blocks of egress that are left, if all
    /// metadata is 0 and headers are unknown.
    fn outcomes(body: &str) -> Vec<u64> {
        let source = SOURCE.replace("BODY", body);
        let compiled = compile_source("branches.p4", &source, &Options::default());
        let program = compiled.unwrap_or_else(|errors| panic!("{errors}")).program;
        let mut known = vec![Some(0); program.state_words as usize];
        for (word, words) in program.header_words() {
            known[word as usize..(word + words) as usize].fill(None);
        }
        let out: Place = program.headers[0].fields[1].place;
        let simpler = decide_branches(&program, Graph::Egress.of(&program), known).unwrap();
        let mut found = Vec::new();
        for id in topological_order(&simpler).unwrap() {
            for op in &simpler.blocks[id as usize].ops {
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
}
