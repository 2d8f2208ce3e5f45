//! Converts expressions of the IR to the prepared form.

use netkv_ir::{BinaryOp, Expr, Stack, UnaryOp};

use crate::bits::mask;
use crate::interpreter::prepared_expr::{Elements, NarrowExpr, WideExpr};

/// Prepares the expressions of a program.
#[derive(Clone, Copy)]
pub(crate) struct ExprPreparer<'a> {
    pub(crate) stacks: &'a [Stack],
}

impl ExprPreparer<'_> {
    /// Prepares an expression of at most 64 bits.
    pub(crate) fn prepare_narrow(self, expr: &Expr) -> NarrowExpr {
        debug_assert!(expr.width() <= 64);
        match expr {
            Expr::Const(value) => NarrowExpr::Const(value.words.first().copied().unwrap_or(0)),
            Expr::Load(place) => NarrowExpr::Load(place.word),
            Expr::LoadElement { stack, index, place } => NarrowExpr::Element {
                elements: self.elements(*stack),
                index: Box::new(self.prepare_saturated(index)),
                word: place.word,
            },
            Expr::Unary { op, arg, width } => self.prepare_narrow_unary(*op, arg, *width),
            Expr::Binary { op, left, right, .. } => self.prepare_narrow_binary(*op, left, right),
            Expr::Mux { cond, then, otherwise } => NarrowExpr::Mux(Box::new((
                self.prepare_narrow(cond),
                self.prepare_narrow(then),
                self.prepare_narrow(otherwise),
            ))),
            Expr::Slice { arg, high, low } => {
                self.prepare_low_bits(arg, *low, mask(high - low + 1))
            }
            Expr::Concat(left, right) => NarrowExpr::Concat {
                args: Box::new((self.prepare_narrow(left), self.prepare_narrow(right))),
                shift: right.width(),
            },
            Expr::PacketLength => NarrowExpr::PacketLength,
        }
    }

    fn prepare_narrow_unary(self, op: UnaryOp, arg: &Expr, width: u32) -> NarrowExpr {
        let from = arg.width();
        match op {
            UnaryOp::Not => NarrowExpr::Not(Box::new(self.prepare_narrow(arg)), mask(width)),
            UnaryOp::Neg => NarrowExpr::Neg(Box::new(self.prepare_narrow(arg)), mask(width)),
            _ if from > 64 => self.prepare_low_bits(arg, 0, mask(width)),
            UnaryOp::ZeroExtend if from <= width => self.prepare_narrow(arg),
            UnaryOp::ZeroExtend => {
                NarrowExpr::Truncate(Box::new(self.prepare_narrow(arg)), mask(width))
            }
            UnaryOp::SignExtend => NarrowExpr::SignExtend {
                arg: Box::new(self.prepare_narrow(arg)),
                from,
                mask: mask(width),
            },
        }
    }

    fn prepare_narrow_binary(self, op: BinaryOp, left: &Expr, right: &Expr) -> NarrowExpr {
        let width = left.width();
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::SarSigned) {
            let args = Box::new((self.prepare_narrow(left), self.prepare_saturated(right)));
            return NarrowExpr::Binary { op, args, width };
        }
        if width > 64 {
            let args = Box::new((self.prepare_wide(left), self.prepare_wide(right)));
            return NarrowExpr::Compare { op, args, width };
        }
        match (op, self.prepare_narrow(left), self.prepare_narrow(right)) {
            (BinaryOp::Eq, NarrowExpr::Load(word), NarrowExpr::Const(value))
            | (BinaryOp::Eq, NarrowExpr::Const(value), NarrowExpr::Load(word)) => {
                NarrowExpr::Equals(word, value)
            }
            (op, left, right) => NarrowExpr::Binary { op, args: Box::new((left, right)), width },
        }
    }

    /// Prepares a slice, from bit `low` on, of an expression of any width.
    fn prepare_low_bits(self, arg: &Expr, low: u32, mask: u64) -> NarrowExpr {
        if arg.width() <= 64 {
            return NarrowExpr::Slice { arg: Box::new(self.prepare_narrow(arg)), low, mask };
        }
        // A slice within one word of a place is read without a copy of the place.
        if let Expr::Load(place) = arg
            && low % 64 + mask.count_ones() <= 64
        {
            let word = NarrowExpr::Load(place.word + low / 64);
            return NarrowExpr::Slice { arg: Box::new(word), low: low % 64, mask };
        }
        NarrowExpr::SliceWide { arg: Box::new(self.prepare_wide(arg)), low, mask }
    }

    /// Prepares an index or a shift amount of any width. A value beyond 64 bits becomes `u64::MAX`.
    pub(crate) fn prepare_saturated(self, expr: &Expr) -> NarrowExpr {
        if expr.width() <= 64 {
            self.prepare_narrow(expr)
        } else {
            NarrowExpr::Saturate(Box::new(self.prepare_wide(expr)))
        }
    }

    /// Prepares the low 64 bits of an expression of any width.
    pub(crate) fn prepare_truncated(self, expr: &Expr) -> NarrowExpr {
        if expr.width() <= 64 {
            self.prepare_narrow(expr)
        } else {
            self.prepare_low_bits(expr, 0, u64::MAX)
        }
    }

    /// Prepares an expression of any width.
    pub(crate) fn prepare_wide(self, expr: &Expr) -> WideExpr {
        let width = expr.width();
        if width <= 64 {
            return WideExpr::Narrow(self.prepare_narrow(expr), 1);
        }
        match expr {
            Expr::Const(value) => WideExpr::Const(value.words.clone().into_boxed_slice()),
            Expr::Load(place) => WideExpr::Load { word: place.word, words: place.words() },
            Expr::LoadElement { stack, index, place } => WideExpr::Element {
                elements: self.elements(*stack),
                index: self.prepare_saturated(index),
                word: place.word,
                words: place.words(),
            },
            Expr::Unary { op, arg, .. } => {
                let (from, arg) = (arg.width(), Box::new(self.prepare_wide(arg)));
                match op {
                    UnaryOp::Not => WideExpr::Not(arg, width),
                    UnaryOp::Neg => WideExpr::Neg(arg, width),
                    UnaryOp::ZeroExtend => WideExpr::Resize(arg, width),
                    UnaryOp::SignExtend => WideExpr::SignExtend { arg, from, width },
                }
            }
            Expr::Binary { op, left, right, .. } => match op {
                BinaryOp::Shl | BinaryOp::Shr | BinaryOp::SarSigned => WideExpr::Shift {
                    op: *op,
                    arg: Box::new(self.prepare_wide(left)),
                    amount: Box::new(self.prepare_saturated(right)),
                    width,
                },
                _ => {
                    let args = Box::new((self.prepare_wide(left), self.prepare_wide(right)));
                    WideExpr::Binary { op: *op, args, width }
                }
            },
            Expr::Mux { cond, then, otherwise } => WideExpr::Mux(Box::new((
                self.prepare_narrow(cond),
                self.prepare_wide(then),
                self.prepare_wide(otherwise),
            ))),
            Expr::Slice { arg, low, .. } => {
                WideExpr::Slice { arg: Box::new(self.prepare_wide(arg)), low: *low, width }
            }
            Expr::Concat(left, right) => WideExpr::Concat {
                args: Box::new((self.prepare_wide(left), self.prepare_wide(right))),
                right: right.width(),
                width,
            },
            Expr::PacketLength => WideExpr::Narrow(NarrowExpr::PacketLength, 1),
        }
    }

    fn elements(self, stack: u32) -> Elements {
        let stack = &self.stacks[stack as usize];
        Elements { size: u64::from(stack.size), stride: stack.stride }
    }
}
