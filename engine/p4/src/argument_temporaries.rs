//! Finds the arguments of a call that p4c passes through a temporary variable.
//!
//! p4c copies the temporary back to the argument after the call. If the callee runs `exit`, that
//! copy does not happen and the output is lost. Lowering must do the same (`lowering/exit.rs`).

use crate::ast::Dir;
use crate::hir::{CallArg, DeclId, HExpr, HExprKind};
use crate::side_effects::contains_call;

/// A variable, or a part of one that the steps (fields and stack indices) select. A step of `None`
/// is a stack index that is unknown at compile time.
#[derive(Debug, Clone)]
struct AccessPath {
    root: DeclId,
    steps: Vec<Option<usize>>,
}

impl AccessPath {
    /// True if one path may select a part of the other.
    fn overlaps(&self, other: &AccessPath) -> bool {
        let differ =
            |(a, b): (&Option<usize>, &Option<usize>)| a.is_some() && b.is_some() && a != b;
        self.root == other.root && !self.steps.iter().zip(&other.steps).any(differ)
    }
}

/// For each argument of a call: true if p4c copies it to a temporary before the call, and back
/// after the call.
pub(crate) fn passed_by_temporary(args: &[CallArg]) -> Vec<bool> {
    let mut written = Vec::new();
    let mut applies = false;
    for arg in args {
        if let Some(expr) = &arg.expr {
            if is_out(arg) {
                written.push(expr);
            }
            collect_outputs(expr, &mut written, &mut applies);
        }
    }
    let temporary = |expr: &HExpr, arg: &CallArg| {
        let slice = matches!(expr.kind, HExprKind::Slice(..)) && is_out(arg);
        let own = access_paths(expr);
        let aliased = written
            .iter()
            .filter(|other| !std::ptr::eq(**other, expr))
            .any(|other| overlap(&own, &access_paths(other)));
        applies || slice || aliased || contains_call(expr)
    };
    args.iter().map(|arg| arg.expr.as_ref().is_some_and(|expr| temporary(expr, arg))).collect()
}

fn is_out(arg: &CallArg) -> bool {
    matches!(arg.dir, Dir::Out | Dir::InOut)
}

fn overlap(a: &[AccessPath], b: &[AccessPath]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.overlaps(b)))
}

/// Collects the `out` and `inout` arguments of all calls in an expression. Sets `applies` if one
/// of the calls applies a table, because an action of the table may write any variable.
fn collect_outputs<'e>(expr: &'e HExpr, written: &mut Vec<&'e HExpr>, applies: &mut bool) {
    match &expr.kind {
        HExprKind::Hit(..) => *applies = true,
        HExprKind::Call(call) => {
            for arg in &call.args {
                if let Some(expr) = &arg.expr {
                    if is_out(arg) {
                        written.push(expr);
                    }
                    collect_outputs(expr, written, applies);
                }
            }
        }
        _ => {
            let operands = expr.kind.operands().into_iter();
            operands.for_each(|operand| collect_outputs(operand, written, applies));
        }
    }
}

/// All variables, and parts of variables, that an expression names.
fn access_paths(expr: &HExpr) -> Vec<AccessPath> {
    let step = |base: &HExpr, next: Option<usize>| {
        let mut found = access_paths(base);
        found.iter_mut().for_each(|path| path.steps.push(next));
        found
    };
    match &expr.kind {
        HExprKind::Var(id) => vec![AccessPath { root: *id, steps: Vec::new() }],
        HExprKind::Field(base, field) => step(base, Some(*field)),
        HExprKind::Next(base) | HExprKind::Last(base) => step(base, None),
        HExprKind::Element(base, index) => match index.as_const() {
            Some(at) => step(base, usize::try_from(at).ok()),
            None => [step(base, None), access_paths(index)].concat(),
        },
        HExprKind::Call(call) => {
            call.args.iter().filter_map(|arg| arg.expr.as_ref()).flat_map(access_paths).collect()
        }
        other => other.operands().into_iter().flat_map(access_paths).collect(),
    }
}

/// True if two arguments are syntactically equal, so that p4c takes them for the same l-value.
pub(crate) fn same_syntax(a: &HExpr, b: &HExpr) -> bool {
    match (&a.kind, &b.kind) {
        (HExprKind::Const(a), HExprKind::Const(b)) => a == b,
        (HExprKind::Var(a), HExprKind::Var(b)) => a == b,
        (HExprKind::Field(a, i), HExprKind::Field(b, j)) => i == j && same_syntax(a, b),
        // p4c copies an index that is not a constant to a new variable at each call.
        (HExprKind::Element(a, i), HExprKind::Element(b, j)) => {
            i.as_const().is_some() && i.as_const() == j.as_const() && same_syntax(a, b)
        }
        (HExprKind::Slice(a, i, k), HExprKind::Slice(b, j, l)) => {
            (i, k) == (j, l) && same_syntax(a, b)
        }
        (HExprKind::Unary(o, a), HExprKind::Unary(p, b)) => o == p && same_syntax(a, b),
        (HExprKind::Cast(x), HExprKind::Cast(y)) => a.ty == b.ty && same_syntax(x, y),
        (HExprKind::Binary(o, a, b), HExprKind::Binary(p, c, d)) => {
            o == p && same_syntax(a, c) && same_syntax(b, d)
        }
        (HExprKind::IsValid(a), HExprKind::IsValid(b)) => same_syntax(a, b),
        _ => false,
    }
}
