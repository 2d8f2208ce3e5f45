//! Checks operators, and folds those whose operands are constants.

use netkv_ir::Span;
use num_bigint::BigInt;

use super::state::Checker;
use crate::ast::Expr;
use crate::constant_folding::{self, Format};
use crate::hir::{BinOp, HExpr, HExprKind, UnOp};
use crate::types::Ty;

/// Maximum width of a shift amount, as in p4c for bmv2.
const MAX_SHIFT_AMOUNT_BITS: u32 = 8;

fn operator(op: &str) -> BinOp {
    match op {
        "+" => BinOp::Add,
        "-" => BinOp::Sub,
        "*" => BinOp::Mul,
        "/" => BinOp::Div,
        "%" => BinOp::Mod,
        "|+|" => BinOp::SatAdd,
        "|-|" => BinOp::SatSub,
        "&" => BinOp::And,
        "|" => BinOp::Or,
        "^" => BinOp::Xor,
        "<<" => BinOp::Shl,
        ">>" => BinOp::Shr,
        "==" => BinOp::Eq,
        "!=" => BinOp::Ne,
        "<" => BinOp::Lt,
        "<=" => BinOp::Le,
        ">" => BinOp::Gt,
        ">=" => BinOp::Ge,
        "&&" => BinOp::LogicalAnd,
        "||" => BinOp::LogicalOr,
        _ => BinOp::Concat,
    }
}

impl Checker<'_> {
    /// Representation of a scalar type. `int` has none.
    pub(super) fn int_format(&self, ty: &Ty) -> Format {
        self.hir.types.width(ty).map(|width| (width, self.hir.types.is_signed(ty)))
    }

    pub(super) fn check_unary(&mut self, op: &str, arg: &Expr, span: Span) -> HExpr {
        let arg = self.check_expr(arg, None);
        if op == "!" {
            let arg = self.convert(arg, &Ty::Bool);
            return self.make_unary(UnOp::Not, arg, span);
        }
        let arg = self.convert_to_underlying_type(arg);
        let op = if op == "~" { UnOp::Complement } else { UnOp::Negate };
        match (arg.ty.clone(), op) {
            (Ty::Unknown, _) => HExpr::error(span),
            (Ty::Bit(_) | Ty::Int(_), _) | (Ty::InfInt, UnOp::Negate) => {
                self.make_unary(op, arg, span)
            }
            _ => {
                let shown = self.show(&arg.ty);
                let sign = if op == UnOp::Complement { "~" } else { "-" };
                self.error_expr(
                    span,
                    format!("Operator '{sign}' takes a bit<W> or int<W>, not a {shown}."),
                )
            }
        }
    }

    fn make_unary(&mut self, op: UnOp, arg: HExpr, span: Span) -> HExpr {
        let ty = arg.ty.clone();
        if let Some(value) = arg.as_const() {
            let format = if op == UnOp::Not { Some((1, false)) } else { self.int_format(&ty) };
            return HExpr::constant(constant_folding::unary(op, value, format), ty, span);
        }
        HExpr { kind: HExprKind::Unary(op, Box::new(arg)), ty, span }
    }

    pub(super) fn check_binary(
        &mut self,
        text: &str,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> HExpr {
        let mut a = self.check_expr(left, None);
        let hint = a.ty.clone();
        let b = self.check_expr(right, Some(&hint));
        if matches!(a.ty, Ty::Tuple(_) | Ty::Record(_) | Ty::InvalidHeader)
            && matches!(a.kind, HExprKind::Aggregate(_) | HExprKind::InvalidHeader)
        {
            let to = b.ty.clone();
            a = self.convert(a, &to);
        }
        self.make_binary(text, a, b, span)
    }

    pub(super) fn make_binary(&mut self, text: &str, a: HExpr, b: HExpr, span: Span) -> HExpr {
        if a.ty == Ty::Unknown || b.ty == Ty::Unknown {
            return HExpr::error(span);
        }
        let op = operator(text);
        match op {
            BinOp::LogicalAnd | BinOp::LogicalOr => {
                let (a, b) = (self.convert(a, &Ty::Bool), self.convert(b, &Ty::Bool));
                // A constant left operand determines the result, or the result is the right one.
                if let Some(value) = a.as_const() {
                    let truth = *value != BigInt::ZERO;
                    return if truth == (op == BinOp::LogicalAnd) { b } else { a };
                }
                self.build_binary(op, a, b, Ty::Bool, span)
            }
            BinOp::Eq | BinOp::Ne => self.check_equality(op, text, a, b, span),
            BinOp::Shl | BinOp::Shr => self.check_shift(op, text, a, b, span),
            BinOp::Concat => self.check_concat(a, b, span),
            _ => self.check_arithmetic(op, text, a, b, span),
        }
    }

    fn check_equality(&mut self, op: BinOp, text: &str, a: HExpr, b: HExpr, span: Span) -> HExpr {
        let (a, b) = match (&a.ty, &b.ty) {
            // Members of two enums are compared as values of their underlying types.
            (Ty::Enum(x), Ty::Enum(y)) if x != y => {
                (self.convert_to_underlying_type(a), self.convert_to_underlying_type(b))
            }
            _ => self.unify_types(a, b),
        };
        let comparable = matches!(
            self.hir.types.base(&a.ty),
            Ty::Varbit(_)
                | Ty::Bool
                | Ty::Bit(_)
                | Ty::Int(_)
                | Ty::InfInt
                | Ty::Error
                | Ty::Enum(_)
                | Ty::Struct(_)
                | Ty::Stack(..)
                | Ty::Tuple(_)
                | Ty::Str
        );
        if a.ty != b.ty || !comparable {
            return self.report_mismatch(text, &a, &b, span);
        }
        self.build_binary(op, a, b, Ty::Bool, span)
    }

    fn check_shift(&mut self, op: BinOp, text: &str, a: HExpr, b: HExpr, span: Span) -> HExpr {
        let (a, b) = (self.convert_to_underlying_type(a), self.convert_to_underlying_type(b));
        let negative = b.as_const().is_some_and(|v| *v < BigInt::ZERO);
        if negative {
            return self.error_expr(b.span, "A shift by a negative amount has no meaning.");
        }
        let left_fits = match a.ty {
            Ty::Bit(_) | Ty::Int(_) => true,
            Ty::InfInt => b.as_const().is_some() && a.as_const().is_some(),
            _ => false,
        };
        // A constant may have a signed type.
        let right_fits = match b.ty {
            Ty::Bit(_) | Ty::InfInt => true,
            Ty::Int(_) => b.as_const().is_some(),
            _ => false,
        };
        if !left_fits || !right_fits {
            return self.report_mismatch(text, &a, &b, span);
        }
        let amount = self.hir.types.width(&b.ty).unwrap_or(0);
        let zero = a.as_const().is_some_and(|value| *value == BigInt::ZERO);
        if !zero && b.as_const().is_none() && amount > MAX_SHIFT_AMOUNT_BITS {
            let message = format!(
                "The amount of a shift has at most {MAX_SHIFT_AMOUNT_BITS} bits in v1model, and this \
                 one has {amount}: cast it to bit<{MAX_SHIFT_AMOUNT_BITS}>."
            );
            return self.error_expr(b.span, message);
        }
        let ty = a.ty.clone();
        self.build_binary(op, a, b, ty, span)
    }

    fn check_concat(&mut self, a: HExpr, b: HExpr, span: Span) -> HExpr {
        let (a, b) = (self.convert_to_underlying_type(a), self.convert_to_underlying_type(b));
        let ty = match (&a.ty, &b.ty) {
            (Ty::Bit(l), Ty::Bit(r) | Ty::Int(r)) => Ty::Bit(l + r),
            (Ty::Int(l), Ty::Bit(r) | Ty::Int(r)) => Ty::Int(l + r),
            _ => return self.report_mismatch("++", &a, &b, span),
        };
        if self.hir.types.width(&ty).is_some_and(|w| w > crate::token::MAX_WIDTH) {
            return self.error_expr(span, "The result of this '++' is too wide.");
        }
        self.build_binary(BinOp::Concat, a, b, ty, span)
    }

    fn check_arithmetic(&mut self, op: BinOp, text: &str, a: HExpr, b: HExpr, span: Span) -> HExpr {
        let (a, b) = (self.convert_to_underlying_type(a), self.convert_to_underlying_type(b));
        let is_division = matches!(op, BinOp::Div | BinOp::Mod);
        let negative =
            [&a, &b].into_iter().find(|e| e.as_const().is_some_and(|v| *v < BigInt::ZERO));
        if let (true, Some(operand)) = (is_division, negative) {
            let message = format!("'{text}' is defined for positive numbers only.");
            return self.error_expr(operand.span, message);
        }
        let (a, b) = self.unify_types(a, b);
        if a.ty != b.ty {
            return self.report_mismatch(text, &a, &b, span);
        }
        let is_saturating = matches!(op, BinOp::SatAdd | BinOp::SatSub);
        let fits = match a.ty {
            Ty::Bit(_) => true,
            Ty::Int(_) => !is_division,
            Ty::InfInt => !is_saturating,
            _ => false,
        };
        if !fits {
            return self.report_mismatch(text, &a, &b, span);
        }
        let truth = matches!(op, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge);
        let ty = if truth { Ty::Bool } else { a.ty.clone() };
        self.build_binary(op, a, b, ty, span)
    }

    fn report_mismatch(&mut self, text: &str, a: &HExpr, b: &HExpr, span: Span) -> HExpr {
        let (left, right) = (self.show(&a.ty), self.show(&b.ty));
        let advice = match (&a.ty, &b.ty) {
            (Ty::Bit(x), Ty::Bit(y)) if x != y => format!(" A cast makes them equal: ({left})..."),
            (Ty::NewType(id), _) | (_, Ty::NewType(id)) => {
                let (name, base) = &self.hir.types.new_types[*id];
                format!(
                    " A value of the new type {name} must be cast first: ({})...",
                    self.show(base)
                )
            }
            _ => String::new(),
        };
        self.error_expr(
            span,
            format!("Operator '{text}' does not take {left} and {right}.{advice}"),
        )
    }

    /// Folds the operation if both operands are constants, and creates it otherwise.
    fn build_binary(&mut self, op: BinOp, a: HExpr, b: HExpr, ty: Ty, span: Span) -> HExpr {
        if let (Some(left), Some(right)) = (a.as_const(), b.as_const()) {
            let format = self.int_format(&a.ty);
            let right_width = self.hir.types.width(&b.ty).unwrap_or(0);
            return match constant_folding::binary(op, left, right, format, right_width) {
                Ok(value) => {
                    let value = if op == BinOp::Concat {
                        constant_folding::wrap(&value, self.int_format(&ty))
                    } else {
                        value
                    };
                    HExpr::constant(value, ty, span)
                }
                Err(message) => self.error_expr(span, message),
            };
        }
        if matches!(op, BinOp::Div | BinOp::Mod) && b.as_const().is_some_and(|v| *v == BigInt::ZERO)
        {
            return self.error_expr(span, "This divides by zero.");
        }
        HExpr { kind: HExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span }
    }

    pub(super) fn check_mux(
        &mut self,
        cond: &Expr,
        then: &Expr,
        otherwise: &Expr,
        hint: Option<&Ty>,
        span: Span,
    ) -> HExpr {
        let cond = self.check_expr_of_type(cond, &Ty::Bool);
        let mut a = self.check_expr(then, hint);
        let mut b = self.check_expr(otherwise, hint);
        let without_width = a.ty == Ty::InfInt && b.ty == Ty::InfInt && cond.as_const().is_none();
        if let Some(hint) = hint
            && !without_width
            && matches!(hint, Ty::Struct(_) | Ty::Bit(_) | Ty::Int(_))
        {
            if matches!(a.ty, Ty::Tuple(_) | Ty::Record(_) | Ty::InvalidHeader | Ty::InfInt) {
                a = self.convert(a, hint);
            }
            if matches!(b.ty, Ty::Tuple(_) | Ty::Record(_) | Ty::InvalidHeader | Ty::InfInt) {
                b = self.convert(b, hint);
            }
        }
        let (a, b) = self.unify_types(a, b);
        if a.ty == Ty::Unknown || b.ty == Ty::Unknown {
            return HExpr::error(span);
        }
        if a.ty != b.ty {
            let (left, right) = (self.show(&a.ty), self.show(&b.ty));
            return self.error_expr(
                span,
                format!("The two values of '? :' have different types: {left} and {right}."),
            );
        }
        if let Some(value) = cond.as_const() {
            return if *value == BigInt::ZERO { b } else { a };
        }
        if a.ty == Ty::InfInt {
            return self.error_expr(
                span,
                "The width of this value is not known; give its constants one, such as 8w1.",
            );
        }
        let ty = a.ty.clone();
        HExpr { kind: HExprKind::Mux(Box::new(cond), Box::new(a), Box::new(b)), ty, span }
    }
}
