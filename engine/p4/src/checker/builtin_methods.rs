//! Checks the built-in methods of headers and header stacks.

use netkv_ir::Span;

use super::{Checker, Context};
use crate::ast::{Arg, Name};
use crate::diagnostics::did_you_mean;
use crate::hir::{Call, Callee, HExpr, HExprKind};
use crate::types::Ty;

impl Checker<'_> {
    /// Checks a method call on a value: `isValid`, `push_front`, `minSizeInBits` and so on.
    pub(super) fn check_builtin_method(
        &mut self,
        object: HExpr,
        method: &Name,
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        let ty = self.hir.types.base(&object.ty);
        if ty == Ty::Unknown {
            return HExpr::error(span);
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
            "isValid" if is_header || self.hir.types.is_union(&ty) => {
                if !args.is_empty() {
                    return self.error_expr(span, "'isValid' takes no arguments.");
                }
                if matches!(object.kind, HExprKind::Next(_)) && is_header {
                    return self.error_expr(
                        span,
                        "'next' cannot be read: it is the element that is extracted next.",
                    );
                }
                return HExpr { kind: HExprKind::IsValid(Box::new(object)), ty: Ty::Bool, span };
            }
            "setValid" | "setInvalid" if is_header => {
                self.check_lvalue(&object, "This header");
                let valid = &*method.text == "setValid";
                (0, Ty::Void, Callee::SetValid(Box::new(object), valid))
            }
            "push_front" | "pop_front" if is_stack => {
                if self.context == Context::Parser {
                    let message = format!("'{}' cannot be called in a parser.", method.text);
                    return self.error_expr(method.span, message);
                }
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
                return self.error_expr(
                    method.span,
                    format!("A value of type {shown} has no method '{text}'.{hint}"),
                );
            }
        };
        if args.len() != expected {
            return self.error_expr(
                span,
                format!(
                    "'{}' takes {expected} arguments, but {} are given.",
                    method.text,
                    args.len()
                ),
            );
        }
        let call = Call { callee, type_args: Vec::new(), args: Vec::new(), span };
        HExpr { kind: HExprKind::Call(Box::new(call)), ty: result, span }
    }
}
