//! Type arguments of externs: given or inferred.

use std::collections::HashMap;
use std::rc::Rc;

use super::Checker;
use crate::types::Ty;

/// What the type parameters stand for.
pub(super) type Bindings = HashMap<Rc<str>, Ty>;

/// Puts in what type parameters stand for.
pub(super) fn substitute(ty: &Ty, bindings: &Bindings) -> Ty {
    match ty {
        Ty::Var(name) => bindings.get(name).cloned().unwrap_or_else(|| ty.clone()),
        Ty::Stack(element, size) => Ty::Stack(Rc::new(substitute(element, bindings)), *size),
        Ty::Tuple(parts) => {
            Ty::Tuple(parts.iter().map(|p| substitute(p, bindings)).collect::<Vec<_>>().into())
        }
        Ty::Extern(id, args) => {
            let args: Vec<Ty> = args.iter().map(|a| substitute(a, bindings)).collect();
            Ty::Extern(*id, args.into())
        }
        _ => ty.clone(),
    }
}

impl Checker<'_> {
    /// Learns from an argument what type parameters of `param` stand for.
    pub(super) fn infer(&self, param: &Ty, arg: &Ty, bindings: &mut Bindings) {
        match (param, arg) {
            (Ty::Var(name), _) => match bindings.get(name) {
                // A number without width takes that of another argument.
                Some(Ty::InfInt | Ty::Infer | Ty::Unknown) | None => {
                    bindings.insert(name.clone(), arg.clone());
                }
                Some(_) => {}
            },
            (Ty::Stack(a, _), Ty::Stack(b, _)) => self.infer(a, b, bindings),
            (Ty::Tuple(a), Ty::Tuple(b)) => {
                for (a, b) in a.iter().zip(b.iter()) {
                    self.infer(a, b, bindings);
                }
            }
            (Ty::Extern(_, a), Ty::Extern(_, b)) => {
                for (a, b) in a.iter().zip(b.iter()) {
                    self.infer(a, b, bindings);
                }
            }
            _ => {}
        }
    }
}
