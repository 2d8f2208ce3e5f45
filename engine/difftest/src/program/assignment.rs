//! Generates assignments.

use super::expression::{call, expression};
use super::scope::{Ty, Variable};
use super::writer::{Writer, line};

/// Maximum nesting of expressions in a statement.
pub(super) const MAX_DEPTH: usize = 3;

/// Operators of compound assignments.
const OPERATORS: &[&str] = &["+", "-", "*", "&", "|", "^", "|+|", "|-|", "<<", ">>"];

/// Writes an assignment to a place of this type. It is a plain or a compound one. Its value may be
/// a call, which may change the index on the left.
pub(super) fn assign(w: &mut Writer, to: &str, ty: Ty, depth: usize) {
    if ty != Ty::Bool && w.rng.chance(25) {
        let op = *w.rng.pick(OPERATORS);
        let right = match op {
            "<<" | ">>" => Ty::Bit(*w.rng.pick(&[2, 3, 5, 8])),
            _ => ty,
        };
        let value = value(w, right, depth);
        line!(w, "{to} {op}= {value};");
    } else {
        let value = value(w, ty, depth);
        line!(w, "{to} = {value};");
    }
}

fn value(w: &mut Writer, ty: Ty, depth: usize) -> String {
    if w.rng.chance(15)
        && let Some(text) = call(w, ty, 1)
    {
        return text;
    }
    expression(w, ty, depth)
}

fn writable(w: &mut Writer) -> Option<Variable> {
    w.variable(|v| v.writable)
}

/// Where an extern writes a result of this type: a variable, which is declared if none has the
/// type.
pub(super) fn destination(w: &mut Writer, ty: Ty) -> String {
    if let Some(found) = w.variable(|v| v.writable && v.ty == ty) {
        return found.text;
    }
    let name = w.unique_name("r");
    line!(w, "{} {name};", ty.text());
    w.declare_variable(name.clone(), ty, true);
    name
}

/// Writes an assignment to a random variable.
pub(super) fn assignment(w: &mut Writer) {
    let Some(to) = writable(w) else { return };
    assign(w, &to.text, to.ty, MAX_DEPTH);
}
