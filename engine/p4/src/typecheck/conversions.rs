//! Implicit conversions and casts.

use netkv_ir::Span;
use num_bigint::BigInt;

use super::state::Checker;
use crate::ast::Expr;
use crate::constant_folding;
use crate::hir::{HExpr, HExprKind};
use crate::types::Ty;

impl Checker<'_> {
    /// Checks an expression and converts it to the type `to`.
    pub(super) fn check_expr_of_type(&mut self, expr: &Expr, to: &Ty) -> HExpr {
        let checked = self.check_expr(expr, Some(to));
        self.convert(checked, to)
    }

    /// Applies an implicit conversion. If the language has none, reports an error.
    pub(super) fn convert(&mut self, expr: HExpr, to: &Ty) -> HExpr {
        let span = expr.span;
        if expr.ty == Ty::Unknown || *to == Ty::Unknown {
            return HExpr { kind: expr.kind, ty: Ty::Unknown, span };
        }
        if expr.ty == *to {
            return expr;
        }
        match (&expr.kind, &expr.ty, to) {
            (HExprKind::Const(_), Ty::InfInt, Ty::NewType(_))
                if matches!(self.hir.types.base(to), Ty::Bit(_) | Ty::Int(_)) =>
            {
                let base = self.hir.types.base(to);
                HExpr { ty: to.clone(), ..self.convert(expr, &base) }
            }
            (HExprKind::Const(value), Ty::InfInt, Ty::Bit(_) | Ty::Int(_)) => {
                let format = self.int_format(to);
                let wrapped = constant_folding::wrap(value, format);
                // No warning for -1 as an unsigned value: it is a common notation for all ones.
                if wrapped != *value && *value >= BigInt::ZERO {
                    let shown = self.show(to);
                    self.reporter.warning(
                        span,
                        format!("{value} does not fit in {shown}; it is cut to {wrapped}."),
                    );
                }
                HExpr::constant(wrapped, to.clone(), span)
            }
            (_, Ty::InfInt, Ty::Bit(_) | Ty::Int(_)) => {
                HExpr { kind: HExprKind::Cast(Box::new(expr)), ty: to.clone(), span }
            }
            (HExprKind::Aggregate(_) | HExprKind::InvalidHeader, ..) => {
                self.convert_aggregate(expr, to)
            }
            (_, Ty::Enum(id), _) if self.hir.types.enums[*id].repr.as_ref() == Some(to) => {
                self.convert_to_underlying_type(expr)
            }
            _ => {
                let (from, wanted) = (self.show(&expr.ty), self.show(to));
                let castable = self.can_cast(&expr.ty, to);
                let advice = if castable {
                    format!(" A cast makes it one: ({wanted})...")
                } else {
                    String::new()
                };
                self.error_expr(
                    span,
                    format!("Expected a value of type {wanted}, not {from}.{advice}"),
                )
            }
        }
    }

    /// Converts a member of a serializable enum to the underlying type. Other values stay as
    /// they are.
    pub(super) fn convert_to_underlying_type(&mut self, expr: HExpr) -> HExpr {
        let Ty::Enum(id) = expr.ty else { return expr };
        let Some(repr) = self.hir.types.enums[id].repr.clone() else { return expr };
        self.reinterpret(expr, repr)
    }

    /// Reinterprets the bits of a value as another type of the same width.
    fn reinterpret(&mut self, expr: HExpr, to: Ty) -> HExpr {
        let span = expr.span;
        match expr.kind {
            HExprKind::Const(value) => {
                HExpr::constant(constant_folding::wrap(&value, self.int_format(&to)), to, span)
            }
            _ => HExpr { kind: HExprKind::Cast(Box::new(expr)), ty: to, span },
        }
    }

    /// Converts one of two operands implicitly, so that both have the same type.
    pub(super) fn unify_types(&mut self, a: HExpr, b: HExpr) -> (HExpr, HExpr) {
        if a.ty == b.ty {
            return (a, b);
        }
        match (&a.ty, &b.ty) {
            (Ty::InfInt, Ty::Bit(_) | Ty::Int(_)) => {
                let to = b.ty.clone();
                (self.convert(a, &to), b)
            }
            (Ty::Bit(_) | Ty::Int(_), Ty::InfInt) => {
                let to = a.ty.clone();
                let b = self.convert(b, &to);
                (a, b)
            }
            (Ty::Enum(_), Ty::Bit(_) | Ty::Int(_) | Ty::InfInt) => {
                let checked = self.convert_to_underlying_type(a);
                if matches!(checked.ty, Ty::Enum(_)) {
                    (checked, b)
                } else {
                    self.unify_types(checked, b)
                }
            }
            (Ty::Bit(_) | Ty::Int(_) | Ty::InfInt, Ty::Enum(_)) => {
                let checked = self.convert_to_underlying_type(b);
                if matches!(checked.ty, Ty::Enum(_)) {
                    (a, checked)
                } else {
                    self.unify_types(a, checked)
                }
            }
            (Ty::Struct(_), Ty::Tuple(_) | Ty::Record(_) | Ty::InvalidHeader) => {
                let to = a.ty.clone();
                let checked = self.convert(b, &to);
                (a, checked)
            }
            (Ty::Tuple(_) | Ty::Record(_) | Ty::InvalidHeader, Ty::Struct(_)) => {
                let to = b.ty.clone();
                let checked = self.convert(a, &to);
                (checked, b)
            }
            (Ty::Tuple(_), Ty::Tuple(_)) => {
                let to = a.ty.clone();
                match matches!(b.kind, HExprKind::Aggregate(_)) {
                    true => {
                        let checked = self.convert(b, &to);
                        (a, checked)
                    }
                    false => {
                        let to = b.ty.clone();
                        let checked = self.convert(a, &to);
                        (checked, b)
                    }
                }
            }
            _ => (a, b),
        }
    }

    fn can_cast(&self, from: &Ty, to: &Ty) -> bool {
        match (from, to) {
            (Ty::NewType(_), _) => {
                self.can_cast(&self.hir.types.base(from), to) || self.hir.types.base(from) == *to
            }
            (_, Ty::NewType(_)) => {
                self.can_cast(from, &self.hir.types.base(to)) || self.hir.types.base(to) == *from
            }
            (Ty::Bit(_), Ty::Bit(_)) | (Ty::Int(_), Ty::Int(_)) => true,
            (Ty::Bit(a), Ty::Int(b)) | (Ty::Int(a), Ty::Bit(b)) => a == b,
            (Ty::Bit(1), Ty::Bool) | (Ty::Bool, Ty::Bit(1)) => true,
            (Ty::InfInt, Ty::Bit(_) | Ty::Int(_) | Ty::Bool) => true,
            (Ty::Bit(_) | Ty::Int(_) | Ty::InfInt, Ty::Enum(id)) => {
                match &self.hir.types.enums[*id].repr {
                    Some(repr) => repr == from || *from == Ty::InfInt,
                    None => false,
                }
            }
            (Ty::Enum(id), _) => match &self.hir.types.enums[*id].repr {
                Some(repr) => repr == to || self.can_cast(repr, to),
                None => false,
            },
            _ => false,
        }
    }

    /// The cast `(to) expr`.
    pub(super) fn check_cast(&mut self, expr: HExpr, to: &Ty, span: Span) -> HExpr {
        if expr.ty == Ty::Unknown || *to == Ty::Unknown {
            return HExpr::error(span);
        }
        if expr.ty == *to {
            return expr;
        }
        if matches!(expr.kind, HExprKind::Aggregate(_) | HExprKind::InvalidHeader) {
            return self.convert(expr, to);
        }
        if *to == Ty::InfInt && matches!(expr.ty, Ty::Bit(_) | Ty::Int(_)) {
            if expr.as_const().is_some() {
                return HExpr { ty: Ty::InfInt, span, ..expr };
            }
            return self.error_expr(span, "Only constants can be cast to int.");
        }
        if !self.can_cast(&expr.ty, to) {
            let (from, wanted) = (self.show(&expr.ty), self.show(to));
            let advice = match (&expr.ty, to) {
                (Ty::Bit(_), Ty::Int(w)) => format!(" Two casts do: (int<{w}>)(bit<{w}>)..."),
                (Ty::Int(_), Ty::Bit(w)) => format!(" Two casts do: (bit<{w}>)(int<{w}>)..."),
                (Ty::Bit(_), Ty::Bool) => " A comparison does: ... != 0.".to_string(),
                (Ty::Bool, Ty::Bit(_)) => " Two casts do, by way of bit<1>.".to_string(),
                _ => String::new(),
            };
            return self.error_expr(span, format!("A {from} cannot be cast to {wanted}.{advice}"));
        }
        if let Some(value) = expr.as_const() {
            let mut value = value.clone();
            if self.hir.types.base(to) == Ty::Bool
                && value != BigInt::ZERO
                && value != BigInt::from(1)
            {
                return self.error_expr(span, "Only 0 and 1 can be cast to bool.");
            }
            value = constant_folding::wrap(&value, self.int_format(to));
            return HExpr::constant(value, to.clone(), span);
        }
        HExpr { kind: HExprKind::Cast(Box::new(expr)), ty: to.clone(), span }
    }
}
