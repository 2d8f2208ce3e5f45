//! Generates assignments, and the destinations of outputs of a call.

use super::expression::{call, element, expression};
use super::writer::{CodeKind, Ty, Writer, line};

/// Operators of compound assignments.
const OPERATORS: &[&str] = &["+", "-", "*", "&", "|", "^", "|+|", "|-|", "<<", ">>"];

/// Writes an assignment to a place of this type. It is a plain or a compound one. Its value may be a
/// call, which may change the index on the left.
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

/// A destination for an output of this type: a variable, a slice of one, or an element of a stack
/// with a run-time index.
pub(super) fn output(w: &mut Writer, ty: Ty) -> Option<String> {
    if w.code_kind != CodeKind::Function && w.rng.chance(12) {
        if let Some(text) = element(w, ty) {
            return Some(text);
        }
    } else if let Ty::Bit(width) = ty
        && w.rng.chance(12)
    {
        let wider = |has: Ty| matches!(has, Ty::Bit(has) if has > width);
        if let Some(found) = w.variable(|v| v.writable && wider(v.ty))
            && let Ty::Bit(has) = found.ty
        {
            let low = w.rng.below((has - width) as usize + 1) as u32;
            return Some(format!("{}[{}:{low}]", found.text, low + width - 1));
        }
    }
    Some(w.variable(|v| v.ty == ty && v.writable)?.text)
}
