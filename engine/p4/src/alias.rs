//! Arguments that p4c passes by way of a temporary variable.
//!
//! The value goes back from the temporary behind the call, so that an `exit` in what is called
//! loses it.

use crate::ast::Dir;
use crate::effects::calls;
use crate::hir::{CallArg, HExpr, HKind, Id};

/// A declaration and a way through it; `None` is an element of a stack that is not known.
#[derive(Debug, Clone)]
struct Location {
    root: Id,
    way: Vec<Option<usize>>,
}

impl Location {
    /// One is a part of the other, or may be.
    fn overlaps(&self, other: &Location) -> bool {
        let differ =
            |(a, b): (&Option<usize>, &Option<usize>)| a.is_some() && b.is_some() && a != b;
        self.root == other.root && !self.way.iter().zip(&other.way).any(differ)
    }
}

/// For each argument of a call: does p4c copy it to a temporary before, and back behind?
pub(crate) fn by_temporary(args: &[CallArg]) -> Vec<bool> {
    let mut written = Vec::new();
    let mut applies = false;
    for arg in args {
        if let Some(expr) = &arg.expr {
            if is_out(arg) {
                written.push(expr);
            }
            outputs(expr, &mut written, &mut applies);
        }
    }
    let temporary = |expr: &HExpr, arg: &CallArg| {
        let slice = matches!(expr.kind, HKind::Slice(..)) && is_out(arg);
        let own = locations(expr);
        let aliased = written
            .iter()
            .filter(|other| !std::ptr::eq(**other, expr))
            .any(|other| overlap(&own, &locations(other)));
        applies || slice || aliased || calls(expr)
    };
    args.iter().map(|arg| arg.expr.as_ref().is_some_and(|expr| temporary(expr, arg))).collect()
}

fn is_out(arg: &CallArg) -> bool {
    matches!(arg.dir, Dir::Out | Dir::InOut)
}

fn overlap(a: &[Location], b: &[Location]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.overlaps(b)))
}

/// What the calls in an expression write; `applies`: a table is among them, which may write all.
fn outputs<'e>(expr: &'e HExpr, written: &mut Vec<&'e HExpr>, applies: &mut bool) {
    match &expr.kind {
        HKind::Hit(..) => *applies = true,
        HKind::Call(call) => {
            for arg in &call.args {
                if let Some(expr) = &arg.expr {
                    if is_out(arg) {
                        written.push(expr);
                    }
                    outputs(expr, written, applies);
                }
            }
        }
        _ => expr.kind.parts().into_iter().for_each(|part| outputs(part, written, applies)),
    }
}

/// All that an expression names.
fn locations(expr: &HExpr) -> Vec<Location> {
    let step = |base: &HExpr, next: Option<usize>| {
        let mut found = locations(base);
        found.iter_mut().for_each(|location| location.way.push(next));
        found
    };
    match &expr.kind {
        HKind::Var(id) => vec![Location { root: *id, way: Vec::new() }],
        HKind::Field(base, field) => step(base, Some(*field)),
        HKind::Next(base) | HKind::Last(base) => step(base, None),
        HKind::Element(base, index) => match index.as_const() {
            Some(at) => step(base, usize::try_from(at).ok()),
            None => [step(base, None), locations(index)].concat(),
        },
        HKind::Call(call) => {
            call.args.iter().filter_map(|arg| arg.expr.as_ref()).flat_map(locations).collect()
        }
        other => other.parts().into_iter().flat_map(locations).collect(),
    }
}

/// Do two arguments name the same thing in the same words?
pub(crate) fn same(a: &HExpr, b: &HExpr) -> bool {
    match (&a.kind, &b.kind) {
        (HKind::Const(a), HKind::Const(b)) => a == b,
        (HKind::Var(a), HKind::Var(b)) => a == b,
        (HKind::Field(a, i), HKind::Field(b, j)) => i == j && same(a, b),
        // p4c puts an index that is not a constant into a variable of its own at each call.
        (HKind::Element(a, i), HKind::Element(b, j)) => {
            i.as_const().is_some() && i.as_const() == j.as_const() && same(a, b)
        }
        (HKind::Slice(a, i, k), HKind::Slice(b, j, l)) => (i, k) == (j, l) && same(a, b),
        (HKind::Unary(o, a), HKind::Unary(p, b)) => o == p && same(a, b),
        (HKind::Cast(x), HKind::Cast(y)) => a.ty == b.ty && same(x, y),
        (HKind::Binary(o, a, b), HKind::Binary(p, c, d)) => o == p && same(a, c) && same(b, d),
        (HKind::IsValid(a), HKind::IsValid(b)) => same(a, b),
        _ => false,
    }
}
