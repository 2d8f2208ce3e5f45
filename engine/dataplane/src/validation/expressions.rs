//! Validates expressions.

use netkv_ir::{BinaryOp, Expr};

use super::validator::{
    Validator, Validity, ensure, same_width, validate_constant, validate_slice,
};

/// Maximum nesting depth of an expression, because executors evaluate it recursively.
const MAX_EXPRESSION_DEPTH: u32 = 1_000;

impl Validator<'_> {
    pub(super) fn validate_expr_of_width(&self, expr: &Expr, width: u32) -> Validity {
        self.validate_expr(expr)?;
        same_width(expr.width(), width)
    }

    pub(super) fn validate_narrow_expr(&self, expr: &Expr) -> Validity {
        self.validate_expr(expr)?;
        ensure(expr.width() <= 64, || "an expression is wider than 64 bits".to_owned())
    }

    pub(super) fn validate_expr(&self, expr: &Expr) -> Validity {
        self.validate_expr_within_depth(expr, MAX_EXPRESSION_DEPTH)
    }

    /// Validates an expression of at most `depth` levels.
    fn validate_expr_within_depth(&self, expr: &Expr, depth: u32) -> Validity {
        ensure(depth > 0, || {
            format!("an expression is nested deeper than {MAX_EXPRESSION_DEPTH}")
        })?;
        let depth = depth - 1;
        match expr {
            Expr::Const(value) => validate_constant(value, value.width),
            Expr::Load(place) => self.validate_place(*place),
            Expr::LoadElement { stack, index, place } => {
                self.validate_expr_within_depth(index, depth)?;
                self.validate_element(*stack, *place)
            }
            Expr::Unary { arg, width, op } => {
                self.validate_expr_within_depth(arg, depth)?;
                use netkv_ir::UnaryOp::{Neg, Not};
                ensure(*width > 0, || "an expression has no width".to_owned())?;
                if matches!(op, Not | Neg) { same_width(arg.width(), *width) } else { Ok(()) }
            }
            Expr::Binary { op, left, right, width } => {
                use BinaryOp::{Eq, LeSigned, LeUnsigned, LtSigned, LtUnsigned, Ne};
                use BinaryOp::{SarSigned, Shl, Shr};
                self.validate_expr_within_depth(left, depth)?;
                self.validate_expr_within_depth(right, depth)?;
                match op {
                    Shl | Shr | SarSigned => same_width(left.width(), *width),
                    Eq | Ne | LtUnsigned | LeUnsigned | LtSigned | LeSigned => {
                        same_width(left.width(), right.width())?;
                        same_width(*width, 1)
                    }
                    _ => {
                        same_width(left.width(), right.width())?;
                        same_width(left.width(), *width)
                    }
                }
            }
            Expr::Mux { cond, then, otherwise } => {
                self.validate_expr_within_depth(cond, depth)?;
                same_width(cond.width(), 1)?;
                self.validate_expr_within_depth(then, depth)?;
                self.validate_expr_within_depth(otherwise, depth)?;
                same_width(otherwise.width(), then.width())
            }
            Expr::Slice { arg, high, low } => {
                self.validate_expr_within_depth(arg, depth)?;
                validate_slice(*high, *low, arg.width())
            }
            Expr::Concat(left, right) => {
                self.validate_expr_within_depth(left, depth)?;
                self.validate_expr_within_depth(right, depth)
            }
            Expr::PacketLength => Ok(()),
        }
    }
}
