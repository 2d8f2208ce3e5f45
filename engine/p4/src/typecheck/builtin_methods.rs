//! Checks the built-in methods of headers and header stacks.

use netkv_ir::Span;

use super::state::{Checker, Context};
use crate::ast::{Arg, Name};
use crate::diagnostics::did_you_mean;
use crate::hir::{Call, Callee, HExpr, HExprKind};
use crate::types::Ty;

/// Methods of types and of their values.
const SIZE_METHODS: &[&str] =
    &["minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"];

impl Checker<'_> {
    /// Checks a method call on the name of a type, which has the methods of sizes only.
    pub(super) fn check_type_method(
        &mut self,
        name: &Name,
        ty: &Ty,
        method: &Name,
        args: &[Arg],
        span: Span,
    ) -> HExpr {
        if SIZE_METHODS.contains(&&*method.text) {
            let ty = self.hir.types.base(ty);
            return self.check_size_method(&ty, method, args, span);
        }
        let hint = did_you_mean(&method.text, SIZE_METHODS.iter().copied());
        let message = format!("Type '{}' has no method '{}'.{hint}", name.text, method.text);
        self.error_expr(method.span, message)
    }

    /// `minSizeInBits` and its relatives: constants of type `int`.
    fn check_size_method(&mut self, ty: &Ty, method: &Name, args: &[Arg], span: Span) -> HExpr {
        if let Some(arg) = args.first() {
            let message = format!("'{}' takes no arguments.", method.text);
            return self.error_expr(arg.expr.span, message);
        }
        let Some((least, most)) = self.hir.types.size(ty) else {
            let message = format!("A {} has no size in bits.", self.show(ty));
            return self.error_expr(method.span, message);
        };
        let bits = if method.text.starts_with("min") { least } else { most };
        let size = if method.text.ends_with("Bytes") { bits.div_ceil(8) } else { bits };
        HExpr::constant(size, Ty::InfInt, span)
    }

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
        if SIZE_METHODS.contains(&&*method.text) {
            return self.check_size_method(&ty, method, args, span);
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
