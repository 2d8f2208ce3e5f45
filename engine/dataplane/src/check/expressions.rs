//! Checks expressions.

use netkv_ir::{BinaryOp, Expr};

use super::{Check, Checked, constant, ensure, same, slice};

/// Levels of an expression; executors walk it recursively.
const EXPRESSION_DEPTH: u32 = 1_000;

impl Check<'_> {
    pub(super) fn expr_of(&self, expr: &Expr, width: u32) -> Checked {
        self.expr(expr)?;
        same(expr.width(), width)
    }

    pub(super) fn small(&self, expr: &Expr) -> Checked {
        self.expr(expr)?;
        ensure(expr.width() <= 64, || "an expression is wider than 64 bits".to_owned())
    }

    pub(super) fn expr(&self, expr: &Expr) -> Checked {
        self.expr_below(expr, EXPRESSION_DEPTH)
    }

    /// An expression of at most `depth` levels.
    fn expr_below(&self, expr: &Expr, depth: u32) -> Checked {
        ensure(depth > 0, || format!("an expression is nested deeper than {EXPRESSION_DEPTH}"))?;
        let depth = depth - 1;
        match expr {
            Expr::Const(value) => constant(value, value.width),
            Expr::Load(place) => self.place(*place),
            Expr::LoadElement { stack, index, place } => {
                self.expr_below(index, depth)?;
                self.element(*stack, *place)
            }
            Expr::Unary { arg, width, op } => {
                self.expr_below(arg, depth)?;
                use netkv_ir::UnaryOp::{Neg, Not};
                ensure(*width > 0, || "an expression has no width".to_owned())?;
                if matches!(op, Not | Neg) { same(arg.width(), *width) } else { Ok(()) }
            }
            Expr::Binary { op, left, right, width } => {
                use BinaryOp::{Eq, LeSigned, LeUnsigned, LtSigned, LtUnsigned, Ne};
                use BinaryOp::{SarSigned, Shl, Shr};
                self.expr_below(left, depth)?;
                self.expr_below(right, depth)?;
                match op {
                    Shl | Shr | SarSigned => same(left.width(), *width),
                    Eq | Ne | LtUnsigned | LeUnsigned | LtSigned | LeSigned => {
                        same(left.width(), right.width())?;
                        same(*width, 1)
                    }
                    _ => {
                        same(left.width(), right.width())?;
                        same(left.width(), *width)
                    }
                }
            }
            Expr::Mux { cond, then, otherwise } => {
                self.expr_below(cond, depth)?;
                same(cond.width(), 1)?;
                self.expr_below(then, depth)?;
                self.expr_below(otherwise, depth)?;
                same(otherwise.width(), then.width())
            }
            Expr::Slice { arg, high, low } => {
                self.expr_below(arg, depth)?;
                slice(*high, *low, arg.width())
            }
            Expr::Concat(left, right) => {
                self.expr_below(left, depth)?;
                self.expr_below(right, depth)
            }
            Expr::PacketLength => Ok(()),
        }
    }
}
