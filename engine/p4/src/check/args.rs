//! Arguments of calls, and the methods of headers and stacks.

use std::rc::Rc;

use netkv_ir::Span;

use super::Checker;
use crate::ast::{Arg, Dir, Name};
use crate::diag::did_you_mean;
use crate::hir::{Call, CallArg, Callee, HExpr, HKind};
use crate::types::{SigParam, Ty};

impl Checker<'_> {
    pub(super) fn finish_arg(
        &mut self,
        param: &SigParam,
        ty: &Ty,
        value: Option<HExpr>,
    ) -> CallArg {
        let expr = match (value, param.dir) {
            (Some(value), Dir::Out | Dir::InOut) => {
                self.check_lvalue(&value, &format!("The argument for '{}'", param.name));
                if value.ty != *ty && value.ty != Ty::Unknown && *ty != Ty::Unknown {
                    let (wanted, found) = (self.show(ty), self.show(&value.ty));
                    self.error(value.span, format!("The argument for '{}' must be a variable of type {wanted}, not {found}.", param.name));
                }
                Some(value)
            }
            (Some(value), _) => {
                let value = self.convert(value, ty);
                if value.ty == Ty::InfInt {
                    self.error(value.span, "The width of this number is not known here; write it with one, such as 32w1.");
                }
                Some(value)
            }
            (None, _) => None,
        };
        CallArg { dir: param.dir, expr }
    }

    /// For each parameter the argument that goes there; None when that cannot be said.
    pub(super) fn match_args(
        &mut self,
        names: &[Rc<str>],
        optional: &[bool],
        args: &[Arg],
        span: Span,
        callee: &str,
    ) -> Option<Vec<Option<usize>>> {
        let mut order = vec![None; names.len()];
        let named = args.iter().any(|a| a.name.is_some());
        for (i, arg) in args.iter().enumerate() {
            let index = match &arg.name {
                Some(name) => match names.iter().position(|n| *n == name.text) {
                    Some(index) => index,
                    None => {
                        let hint = did_you_mean(&name.text, names.iter().map(|n| &**n));
                        self.error(
                            name.span,
                            format!("{callee} has no parameter '{}'.{hint}", name.text),
                        );
                        return None;
                    }
                },
                None if named => {
                    self.error(arg.expr.span, "Either all arguments have names or none has.");
                    return None;
                }
                None => i,
            };
            match order.get_mut(index) {
                Some(slot @ None) => *slot = Some(i),
                Some(Some(_)) => {
                    self.error(
                        arg.expr.span,
                        format!("Parameter '{}' is given twice.", names[index]),
                    );
                    return None;
                }
                None => {
                    let message = format!(
                        "{callee} takes {} arguments, but {} are given.",
                        names.len(),
                        args.len()
                    );
                    self.error(span, message);
                    return None;
                }
            }
        }
        if let Some(missing) = (0..names.len()).find(|i| order[*i].is_none() && !optional[*i]) {
            let message = format!(
                "{callee} takes {} arguments, but {} are given; '{}' is missing.",
                names.len(),
                args.len(),
                names[missing]
            );
            self.error(span, message);
            return None;
        }
        Some(order)
    }

    /// Methods of headers and stacks.
    pub(super) fn builtin_method(
        &mut self,
        object: HExpr,
        method: &Name,
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let ty = self.hir.types.base(&object.ty);
        if ty == Ty::Unknown {
            return HExpr::wrong(span);
        }
        let size = match &*method.text {
            "minSizeInBits" => self.hir.types.size(&ty).map(|s| s.0),
            "maxSizeInBits" => self.hir.types.size(&ty).map(|s| s.1),
            "minSizeInBytes" => self.hir.types.size(&ty).map(|s| s.0.div_ceil(8)),
            "maxSizeInBytes" => self.hir.types.size(&ty).map(|s| s.1.div_ceil(8)),
            _ => None,
        };
        if let Some(size) = size {
            return HExpr::constant(size, Ty::InfInt, span);
        }
        let is_header = self.hir.types.is_header(&ty);
        let is_stack = matches!(ty, Ty::Stack(..));
        let (expected, result, callee) = match &*method.text {
            "isValid" if is_header => {
                if !args.is_empty() {
                    return self.wrong(span, "'isValid' takes no arguments.");
                }
                return HExpr { kind: HKind::IsValid(Box::new(object)), ty: Ty::Bool, span };
            }
            "setValid" | "setInvalid" if is_header => {
                self.check_lvalue(&object, "This header");
                let valid = &*method.text == "setValid";
                (0, Ty::Void, Callee::SetValid(Box::new(object), valid))
            }
            "push_front" | "pop_front" if is_stack => {
                self.check_lvalue(&object, "This stack");
                let count = match args.first() {
                    Some(arg) => self.const_u32(&arg.expr, "The count"),
                    None => None,
                };
                let push = &*method.text == "push_front";
                (1, Ty::Void, Callee::Push(Box::new(object), push, count.unwrap_or(0)))
            }
            text => {
                let shown = self.show(&object.ty);
                let known: &[&str] = match (is_header, is_stack) {
                    (true, _) => {
                        &["isValid", "setValid", "setInvalid", "minSizeInBits", "minSizeInBytes"]
                    }
                    (_, true) => &["push_front", "pop_front"],
                    _ => &[],
                };
                let hint = did_you_mean(text, known.iter().copied());
                return self.wrong(
                    method.span,
                    format!("A value of type {shown} has no method '{text}'.{hint}"),
                );
            }
        };
        if args.len() != expected {
            return self.wrong(
                span,
                format!(
                    "'{}' takes {expected} arguments, but {} are given.",
                    method.text,
                    args.len()
                ),
            );
        }
        let call = Call { callee, type_args: Vec::new(), args: Vec::new(), span };
        HExpr { kind: HKind::Call(Box::new(call)), ty: result, span }
    }
}
