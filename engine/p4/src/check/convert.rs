//! Conversions: those that happen by themselves, and casts.

use netkv_ir::Span;
use num_bigint::BigInt;

use super::Checker;
use crate::ast::Expr;
use crate::fold;
use crate::hir::{HExpr, HKind};
use crate::types::Ty;

impl Checker<'_> {
    /// Checks an expression whose place wants the type `to`.
    pub(super) fn expr_to(&mut self, expr: &Expr, to: &Ty) -> HExpr {
        let made = self.expr(expr, Some(to));
        self.convert(made, to)
    }

    /// Converts where the language does so by itself; reports otherwise.
    pub(super) fn convert(&mut self, expr: HExpr, to: &Ty) -> HExpr {
        let span = expr.span;
        if expr.ty == Ty::Unknown || *to == Ty::Unknown {
            return HExpr { kind: expr.kind, ty: Ty::Unknown, span };
        }
        if expr.ty == *to {
            return expr;
        }
        match (&expr.kind, &expr.ty, to) {
            (HKind::Const(value), Ty::InfInt, Ty::Bit(_) | Ty::Int(_)) => {
                let format = self.format(to);
                let wrapped = fold::wrap(value, format);
                // -1 for an unsigned is a common way to write all ones.
                if wrapped != *value && *value >= BigInt::ZERO {
                    let shown = self.show(to);
                    self.reporter.warning(
                        span,
                        format!("{value} does not fit in {shown}; it is cut to {wrapped}."),
                    );
                }
                HExpr::constant(wrapped, to.clone(), span)
            }
            (HKind::Aggregate(_) | HKind::Invalid, ..) => self.convert_aggregate(expr, to),
            (_, Ty::Enum(id), _) if self.hir.types.enums[*id].repr.as_ref() == Some(to) => {
                self.implicit_underlying(expr)
            }
            _ => {
                let (from, wanted) = (self.show(&expr.ty), self.show(to));
                let castable = self.can_cast(&expr.ty, to);
                let advice = if castable {
                    format!(" A cast makes it one: ({wanted})...")
                } else {
                    String::new()
                };
                self.wrong(span, format!("Expected a value of type {wanted}, not {from}.{advice}"))
            }
        }
    }

    /// A member of an enum with an underlying type is a value of that type wherever one is wanted.
    pub(super) fn implicit_underlying(&mut self, expr: HExpr) -> HExpr {
        let Ty::Enum(id) = expr.ty else { return expr };
        let Some(repr) = self.hir.types.enums[id].repr.clone() else { return expr };
        self.retype(expr, repr)
    }

    /// The same bits under another type of the same width.
    fn retype(&mut self, expr: HExpr, to: Ty) -> HExpr {
        let span = expr.span;
        match expr.kind {
            HKind::Const(value) => HExpr::constant(fold::wrap(&value, self.format(&to)), to, span),
            _ => HExpr { kind: HKind::Cast(Box::new(expr)), ty: to, span },
        }
    }

    /// Makes the types of two operands equal where the language does so by itself.
    pub(super) fn same_type(&mut self, a: HExpr, b: HExpr) -> (HExpr, HExpr) {
        if a.ty == b.ty {
            return (a, b);
        }
        let is_number = |c: &Self, ty: &Ty| matches!(c.hir.types.base(ty), Ty::Bit(_) | Ty::Int(_));
        match (&a.ty, &b.ty) {
            (Ty::InfInt, other) if is_number(self, other) => {
                let to = self.hir.types.base(&b.ty.clone());
                let made = self.convert(a, &to);
                let ty = b.ty.clone();
                (HExpr { ty, ..made }, b)
            }
            (other, Ty::InfInt) if is_number(self, other) => {
                let to = self.hir.types.base(&a.ty.clone());
                let made = self.convert(b, &to);
                let ty = a.ty.clone();
                (a, HExpr { ty, ..made })
            }
            (Ty::Enum(_), Ty::Bit(_) | Ty::Int(_) | Ty::InfInt) => {
                let made = self.implicit_underlying(a);
                if matches!(made.ty, Ty::Enum(_)) { (made, b) } else { self.same_type(made, b) }
            }
            (Ty::Bit(_) | Ty::Int(_) | Ty::InfInt, Ty::Enum(_)) => {
                let made = self.implicit_underlying(b);
                if matches!(made.ty, Ty::Enum(_)) { (a, made) } else { self.same_type(a, made) }
            }
            (Ty::Struct(_), Ty::Tuple(_) | Ty::Record(_) | Ty::Invalid) => {
                let to = a.ty.clone();
                let made = self.convert(b, &to);
                (a, made)
            }
            (Ty::Tuple(_) | Ty::Record(_) | Ty::Invalid, Ty::Struct(_)) => {
                let to = b.ty.clone();
                let made = self.convert(a, &to);
                (made, b)
            }
            (Ty::Tuple(_), Ty::Tuple(_)) => {
                let to = a.ty.clone();
                match matches!(b.kind, HKind::Aggregate(_)) {
                    true => {
                        let made = self.convert(b, &to);
                        (a, made)
                    }
                    false => {
                        let to = b.ty.clone();
                        let made = self.convert(a, &to);
                        (made, b)
                    }
                }
            }
            _ => (a, b),
        }
    }

    fn can_cast(&self, from: &Ty, to: &Ty) -> bool {
        match (from, to) {
            (Ty::New(_), _) => {
                self.can_cast(&self.hir.types.base(from), to) || self.hir.types.base(from) == *to
            }
            (_, Ty::New(_)) => {
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

    /// `(to) expr`
    pub(super) fn cast(&mut self, expr: HExpr, to: &Ty, span: Span) -> HExpr {
        if expr.ty == Ty::Unknown || *to == Ty::Unknown {
            return HExpr::wrong(span);
        }
        if expr.ty == *to {
            return expr;
        }
        if matches!(expr.kind, HKind::Aggregate(_) | HKind::Invalid) {
            return self.convert(expr, to);
        }
        if *to == Ty::InfInt && expr.as_const().is_some() {
            return HExpr { ty: Ty::InfInt, ..expr };
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
            return self.wrong(span, format!("A {from} cannot be cast to {wanted}.{advice}"));
        }
        if let Some(value) = expr.as_const() {
            let mut value = value.clone();
            if self.hir.types.base(to) == Ty::Bool
                && value != BigInt::ZERO
                && value != BigInt::from(1)
            {
                return self.wrong(span, "Only 0 and 1 can be cast to bool.");
            }
            value = fold::wrap(&value, self.format(to));
            return HExpr::constant(value, to.clone(), span);
        }
        if expr.ty == Ty::InfInt {
            return self.wrong(
                span,
                "The width of this value is not known; give its constants one, such as 8w1.",
            );
        }
        HExpr { kind: HKind::Cast(Box::new(expr)), ty: to.clone(), span }
    }
}
