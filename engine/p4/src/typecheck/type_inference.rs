//! Type arguments of externs: infers them, and substitutes them for type parameters.

use std::collections::HashMap;
use std::rc::Rc;

use super::state::Checker;
use crate::types::Ty;

/// The type argument of each type parameter.
pub(super) type Bindings = HashMap<Rc<str>, Ty>;

/// Replaces type parameters by their type arguments.
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
    /// Infers the type parameters in `param` from the type of an argument.
    pub(super) fn infer(&self, param: &Ty, arg: &Ty, bindings: &mut Bindings) {
        match (param, arg) {
            (Ty::Var(name), _) => match bindings.get(name) {
                // The type of another argument replaces that of a number without width.
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
