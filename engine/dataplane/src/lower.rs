//! From the IR's expressions to prepared ones.

use netkv_ir::{BinaryOp, Expr, Stack, UnaryOp};

use crate::bits::mask;
use crate::expr::{Elements, Small, Wide};

/// Prepares expressions of one program.
#[derive(Clone, Copy)]
pub(crate) struct Lower<'a> {
    pub(crate) stacks: &'a [Stack],
}

impl Lower<'_> {
    /// An expression of at most 64 bits.
    pub(crate) fn small(self, expr: &Expr) -> Small {
        debug_assert!(expr.width() <= 64);
        match expr {
            Expr::Const(value) => Small::Const(value.words.first().copied().unwrap_or(0)),
            Expr::Load(place) => Small::Load(place.word),
            Expr::LoadElement { stack, index, place } => Small::Element {
                elements: self.elements(*stack),
                index: Box::new(self.saturated(index)),
                word: place.word,
            },
            Expr::Unary { op, arg, width } => self.small_unary(*op, arg, *width),
            Expr::Binary { op, left, right, .. } => self.small_binary(*op, left, right),
            Expr::Mux { cond, then, otherwise } => {
                Small::Mux(Box::new((self.small(cond), self.small(then), self.small(otherwise))))
            }
            Expr::Slice { arg, high, low } => self.low_bits(arg, *low, mask(high - low + 1)),
            Expr::Concat(left, right) => Small::Concat {
                args: Box::new((self.small(left), self.small(right))),
                shift: right.width(),
            },
            Expr::PacketLength => Small::PacketLength,
        }
    }

    fn small_unary(self, op: UnaryOp, arg: &Expr, width: u32) -> Small {
        let from = arg.width();
        match op {
            UnaryOp::Not => Small::Not(Box::new(self.small(arg)), mask(width)),
            UnaryOp::Neg => Small::Neg(Box::new(self.small(arg)), mask(width)),
            _ if from > 64 => self.low_bits(arg, 0, mask(width)),
            UnaryOp::ZeroExtend if from <= width => self.small(arg),
            UnaryOp::ZeroExtend => Small::Cut(Box::new(self.small(arg)), mask(width)),
            UnaryOp::SignExtend => {
                Small::SignExtend { arg: Box::new(self.small(arg)), from, mask: mask(width) }
            }
        }
    }

    fn small_binary(self, op: BinaryOp, left: &Expr, right: &Expr) -> Small {
        let width = left.width();
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::SarSigned) {
            let args = Box::new((self.small(left), self.saturated(right)));
            return Small::Binary { op, args, width };
        }
        if width > 64 {
            let args = Box::new((self.wide(left), self.wide(right)));
            return Small::Compare { op, args, width };
        }
        match (op, self.small(left), self.small(right)) {
            (BinaryOp::Eq, Small::Load(word), Small::Const(value))
            | (BinaryOp::Eq, Small::Const(value), Small::Load(word)) => Small::Equals(word, value),
            (op, left, right) => Small::Binary { op, args: Box::new((left, right)), width },
        }
    }

    /// Bits of a value of any width, from `low` on.
    fn low_bits(self, arg: &Expr, low: u32, mask: u64) -> Small {
        if arg.width() <= 64 {
            return Small::Slice { arg: Box::new(self.small(arg)), low, mask };
        }
        // A slice within one word of a place needs no copy of the place.
        if let Expr::Load(place) = arg
            && low % 64 + mask.count_ones() <= 64
        {
            let word = Small::Load(place.word + low / 64);
            return Small::Slice { arg: Box::new(word), low: low % 64, mask };
        }
        Small::SliceWide { arg: Box::new(self.wide(arg)), low, mask }
    }

    /// An index or a shift amount of any width; what does not fit into 64 bits is `u64::MAX`.
    pub(crate) fn saturated(self, expr: &Expr) -> Small {
        if expr.width() <= 64 {
            self.small(expr)
        } else {
            Small::Saturate(Box::new(self.wide(expr)))
        }
    }

    /// The low 64 bits of an expression of any width.
    pub(crate) fn truncated(self, expr: &Expr) -> Small {
        if expr.width() <= 64 { self.small(expr) } else { self.low_bits(expr, 0, u64::MAX) }
    }

    /// An expression of any width.
    pub(crate) fn wide(self, expr: &Expr) -> Wide {
        let width = expr.width();
        if width <= 64 {
            return Wide::Small(self.small(expr), 1);
        }
        match expr {
            Expr::Const(value) => Wide::Const(value.words.clone().into_boxed_slice()),
            Expr::Load(place) => Wide::Load { word: place.word, words: place.words() },
            Expr::LoadElement { stack, index, place } => Wide::Element {
                elements: self.elements(*stack),
                index: self.saturated(index),
                word: place.word,
                words: place.words(),
            },
            Expr::Unary { op, arg, .. } => {
                let (from, arg) = (arg.width(), Box::new(self.wide(arg)));
                match op {
                    UnaryOp::Not => Wide::Not(arg, width),
                    UnaryOp::Neg => Wide::Neg(arg, width),
                    UnaryOp::ZeroExtend => Wide::Resize(arg, width),
                    UnaryOp::SignExtend => Wide::SignExtend { arg, from, width },
                }
            }
            Expr::Binary { op, left, right, .. } => match op {
                BinaryOp::Shl | BinaryOp::Shr | BinaryOp::SarSigned => Wide::Shift {
                    op: *op,
                    arg: Box::new(self.wide(left)),
                    amount: Box::new(self.saturated(right)),
                    width,
                },
                _ => {
                    let args = Box::new((self.wide(left), self.wide(right)));
                    Wide::Binary { op: *op, args, width }
                }
            },
            Expr::Mux { cond, then, otherwise } => {
                Wide::Mux(Box::new((self.small(cond), self.wide(then), self.wide(otherwise))))
            }
            Expr::Slice { arg, low, .. } => {
                Wide::Slice { arg: Box::new(self.wide(arg)), low: *low, width }
            }
            Expr::Concat(left, right) => Wide::Concat {
                args: Box::new((self.wide(left), self.wide(right))),
                right: right.width(),
                width,
            },
            Expr::PacketLength => Wide::Small(Small::PacketLength, 1),
        }
    }

    fn elements(self, stack: u32) -> Elements {
        let stack = &self.stacks[stack as usize];
        Elements { size: u64::from(stack.size), stride: stack.stride }
    }
}
