//! Traversal of a program's graphs and expressions.

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

/// The outermost expressions of a block.
pub(crate) fn expressions(block: &Block) -> Vec<&Expr> {
    let mut expressions = Vec::new();
    for op in &block.ops {
        match op {
            Op::Assign { value, .. } | Op::AssignSlice { value, .. } => expressions.push(value),
            Op::StoreElement { index, value, .. } => expressions.extend([index, value]),
            Op::SetValidElement { index, .. } => expressions.push(index),
            Op::Verify { cond, .. } => expressions.push(cond),
            Op::RegisterRead { index, .. }
            | Op::Count { index, .. }
            | Op::ExecuteMeter { index, .. } => expressions.push(index),
            Op::RegisterWrite { index, value, .. } => expressions.extend([index, value]),
            Op::Hash { base, max, .. } => expressions.extend([base, max]),
            Op::VerifyChecksum { cond, .. } | Op::UpdateChecksum { cond, .. } => {
                expressions.push(cond)
            }
            Op::Clone { session, .. } => expressions.push(session),
            Op::Digest { values, .. } => expressions.extend(values),
            Op::Advance(expr) | Op::Truncate(expr) | Op::Assert { cond: expr, .. } => {
                expressions.push(expr)
            }
            Op::ExtractVarbit { bits, .. } => expressions.push(bits),
            _ => {}
        }
    }
    match &block.terminator {
        Terminator::Branch { cond, .. } => expressions.push(cond),
        Terminator::Select { keys, .. } => expressions.extend(keys),
        Terminator::Apply(apply) => expressions.extend(&apply.keys),
        Terminator::Jump(_) | Terminator::Exit => {}
    }
    expressions
}

/// Visits an expression and all of its subexpressions.
pub(crate) fn subexpressions<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => {}
        Expr::LoadElement { index, .. } => subexpressions(index, visit),
        Expr::Unary { arg, .. } | Expr::Slice { arg, .. } => subexpressions(arg, visit),
        Expr::Binary { left, right, .. } | Expr::Concat(left, right) => {
            subexpressions(left, visit);
            subexpressions(right, visit);
        }
        Expr::Mux { cond, then, otherwise } => {
            subexpressions(cond, visit);
            subexpressions(then, visit);
            subexpressions(otherwise, visit);
        }
    }
}
