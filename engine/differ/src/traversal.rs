//! Walking over a program's graphs.

use netkv_dataplane::Graph;
use netkv_ir::{Apply, Block, Expr, Op, Program, Terminator};

/// All blocks of all graphs.
pub(crate) fn blocks(program: &Program) -> impl Iterator<Item = &Block> {
    Graph::ALL.into_iter().flat_map(|graph| &graph.of(program).blocks)
}

/// All places where a table is applied.
pub(crate) fn applies(program: &Program) -> impl Iterator<Item = &Apply> {
    blocks(program).filter_map(|block| match &block.terminator {
        Terminator::Apply(apply) => Some(&**apply),
        _ => None,
    })
}

/// Every expression of a block, the outermost ones only.
pub(crate) fn expressions(block: &Block) -> Vec<&Expr> {
    let mut found = Vec::new();
    for op in &block.ops {
        match op {
            Op::Assign { value, .. } | Op::AssignSlice { value, .. } => found.push(value),
            Op::StoreElement { index, value, .. } => found.extend([index, value]),
            Op::SetValidElement { index, .. } => found.push(index),
            Op::Verify { cond, .. } => found.push(cond),
            Op::RegisterRead { index, .. }
            | Op::Count { index, .. }
            | Op::ExecuteMeter { index, .. } => found.push(index),
            Op::RegisterWrite { index, value, .. } => found.extend([index, value]),
            Op::Hash { base, max, .. } => found.extend([base, max]),
            Op::VerifyChecksum { cond, .. } | Op::UpdateChecksum { cond, .. } => found.push(cond),
            Op::Clone { session, .. } => found.push(session),
            Op::Digest { values, .. } => found.extend(values),
            Op::Advance(expr) | Op::Truncate(expr) | Op::Assert(expr) => found.push(expr),
            Op::ExtractVarbit { bits, .. } => found.push(bits),
            _ => {}
        }
    }
    match &block.terminator {
        Terminator::Branch { cond, .. } => found.push(cond),
        Terminator::Select { keys, .. } => found.extend(keys),
        Terminator::Apply(apply) => found.extend(&apply.keys),
        Terminator::Jump(_) | Terminator::Exit => {}
    }
    found
}

/// An expression and all its parts.
pub(crate) fn parts<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => {}
        Expr::LoadElement { index, .. } => parts(index, visit),
        Expr::Unary { arg, .. } | Expr::Slice { arg, .. } => parts(arg, visit),
        Expr::Binary { left, right, .. } | Expr::Concat(left, right) => {
            parts(left, visit);
            parts(right, visit);
        }
        Expr::Mux { cond, then, otherwise } => {
            parts(cond, visit);
            parts(then, visit);
            parts(otherwise, visit);
        }
    }
}
