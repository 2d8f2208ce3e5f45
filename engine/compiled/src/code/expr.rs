//! Compiles expressions to SSA values.
//!
//! A value of width `w` is `ceil(w / 64)` machine words, least significant first, high bits 0, as
//! in the state area. Memory is used only for arguments of helpers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use netkv_dataplane::mask;
use netkv_ir::{BinaryOp, Expr, UnaryOp};

use super::builder::Builder;
use crate::known;

pub(super) fn words(width: u32) -> usize {
    width.div_ceil(64) as usize
}

impl Builder<'_> {
    /// An expression of any width.
    pub(super) fn expr(&mut self, expr: &Expr) -> Vec<Value> {
        let width = expr.width();
        if width <= 64 {
            return vec![self.narrow_expr(expr)];
        }
        match expr {
            Expr::Const(value) => value.words.iter().map(|word| self.constant(*word)).collect(),
            Expr::Load(place) => self.load(*place),
            Expr::LoadElement { stack, index, place } => self.load_element(*stack, index, *place),
            Expr::Unary { op, arg, .. } => {
                let from = arg.width();
                let value = self.expr(arg);
                self.unary_wide(*op, value, from, width)
            }
            Expr::Binary { op, left, right, .. } => match op {
                BinaryOp::Shl | BinaryOp::Shr | BinaryOp::SarSigned => {
                    let value = self.expr(left);
                    self.shift_wide(*op, value, right, width)
                }
                _ => {
                    let (left, right) = (self.expr(left), self.expr(right));
                    self.binary_wide(*op, &left, &right, width)
                }
            },
            Expr::Mux { cond, then, otherwise } => {
                let cond = self.narrow_expr(cond);
                let (then, otherwise) = (self.expr(then), self.expr(otherwise));
                let pairs = then.into_iter().zip(otherwise);
                pairs.map(|(then, otherwise)| self.either(cond, then, otherwise)).collect()
            }
            Expr::Slice { arg, low, .. } => {
                let value = self.expr(arg);
                self.slice(&value, *low, width)
            }
            Expr::Concat(left, right) => {
                let shift = right.width();
                let (left, right) = (self.expr(left), self.expr(right));
                self.concat(&left, &right, shift, width)
            }
            Expr::PacketLength => unreachable!("it has 32 bits"),
        }
    }

    /// An expression of at most 64 bits.
    pub(super) fn narrow_expr(&mut self, expr: &Expr) -> Value {
        let width = expr.width();
        match expr {
            Expr::Const(value) => self.constant(value.words[0]),
            Expr::Load(place) => self.get(place.word),
            Expr::LoadElement { stack, index, place } => {
                self.load_element(*stack, index, *place)[0]
            }
            Expr::Unary { op, arg, .. } => self.unary(*op, arg, width),
            Expr::Binary { op, left, right, .. } => self.binary(*op, left, right),
            Expr::Mux { cond, then, otherwise } => {
                let cond = self.narrow_expr(cond);
                let (then, otherwise) = (self.narrow_expr(then), self.narrow_expr(otherwise));
                self.either(cond, then, otherwise)
            }
            Expr::Slice { arg, low, .. } => {
                let value = self.expr(arg);
                match self.number(value[0]) {
                    Some(number) if value.len() == 1 => {
                        self.constant(number.checked_shr(*low).unwrap_or(0) & mask(width))
                    }
                    _ => self.slice(&value, *low, width)[0],
                }
            }
            Expr::Concat(left, right) => {
                let shift = right.width();
                let (left, right) = (self.narrow_expr(left), self.narrow_expr(right));
                if let (Some(left), Some(right)) = (self.number(left), self.number(right)) {
                    return self.constant(left.checked_shl(shift).unwrap_or(0) | right);
                }
                let left = self.b.ins().ishl_imm(left, i64::from(shift));
                self.b.ins().bor(left, right)
            }
            Expr::PacketLength => {
                let length = self.frame_length;
                self.truncate_to(length, 32)
            }
        }
    }

    /// A condition, as an operand of a branch or select.
    pub(super) fn condition(&mut self, expr: &Expr) -> Value {
        self.narrow_expr(expr)
    }

    /// An index or shift amount: all ones if it does not fit into 64 bits.
    pub(super) fn saturated(&mut self, expr: &Expr) -> Value {
        let value = self.expr(expr);
        let Some(high) = self.any_bits(&value[1..]) else { return value[0] };
        let all = self.constant(u64::MAX);
        self.b.ins().select(high, all, value[0])
    }

    /// The low 64 bits of an expression.
    pub(super) fn truncated(&mut self, expr: &Expr) -> Value {
        self.expr(expr)[0]
    }

    pub(super) fn truncate_to(&mut self, value: Value, width: u32) -> Value {
        if width >= 64 {
            return value;
        }
        match self.number(value) {
            Some(number) => self.constant(number & mask(width)),
            None => self.b.ins().band_imm(value, mask(width) as i64),
        }
    }

    /// A bit pattern of `width` bits as a signed number.
    pub(super) fn signed(&mut self, value: Value, width: u32) -> Value {
        if width >= 64 {
            return value;
        }
        let shift = i64::from(64 - width);
        let high = self.b.ins().ishl_imm(value, shift);
        self.b.ins().sshr_imm(high, shift)
    }

    fn unary(&mut self, op: UnaryOp, arg: &Expr, width: u32) -> Value {
        let from = arg.width();
        if from > 64 {
            let value = self.truncated(arg);
            return self.truncate_to(value, width);
        }
        let value = self.narrow_expr(arg);
        if let Some(known) = self.number(value).and_then(|it| known::unary(op, it, mask(width))) {
            return self.constant(known);
        }
        match op {
            UnaryOp::Not => self.b.ins().bxor_imm(value, mask(width) as i64),
            UnaryOp::Neg => {
                let value = self.b.ins().ineg(value);
                self.truncate_to(value, width)
            }
            UnaryOp::ZeroExtend if width >= from => value,
            UnaryOp::ZeroExtend => self.truncate_to(value, width),
            UnaryOp::SignExtend if width <= from => self.truncate_to(value, width),
            UnaryOp::SignExtend => {
                let value = self.signed(value, from);
                self.truncate_to(value, width)
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Value {
        let width = left.width();
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::SarSigned) {
            let (value, amount) = (self.narrow_expr(left), self.saturated(right));
            return self.shift(op, value, amount, width);
        }
        if width > 64 {
            let (left, right) = (self.expr(left), self.expr(right));
            let holds = self.compare_wide(op, left, right, width);
            return self.b.ins().uextend(types::I64, holds);
        }
        let (l, r) = (self.narrow_expr(left), self.narrow_expr(right));
        if let Some(value) = self.folded(op, l, r, width) {
            return value;
        }
        match op {
            BinaryOp::Add => {
                let sum = self.b.ins().iadd(l, r);
                self.truncate_to(sum, width)
            }
            BinaryOp::Sub => {
                let rest = self.b.ins().isub(l, r);
                self.truncate_to(rest, width)
            }
            BinaryOp::Mul => {
                let product = self.b.ins().imul(l, r);
                self.truncate_to(product, width)
            }
            BinaryOp::SatAddUnsigned => {
                let sum = self.b.ins().iadd(l, r);
                let all = self.constant(mask(width));
                let over = if width == 64 {
                    self.b.ins().icmp(IntCC::UnsignedLessThan, sum, l)
                } else {
                    self.b.ins().icmp(IntCC::UnsignedGreaterThan, sum, all)
                };
                self.b.ins().select(over, all, sum)
            }
            BinaryOp::SatSubUnsigned => {
                let under = self.b.ins().icmp(IntCC::UnsignedLessThan, l, r);
                let rest = self.b.ins().isub(l, r);
                let zero = self.constant(0);
                self.b.ins().select(under, zero, rest)
            }
            BinaryOp::SatAddSigned | BinaryOp::SatSubSigned => {
                self.saturate_signed(op, l, r, width)
            }
            BinaryOp::And => self.b.ins().band(l, r),
            BinaryOp::Or => self.b.ins().bor(l, r),
            BinaryOp::Xor => self.b.ins().bxor(l, r),
            _ => {
                let (l, r) = if matches!(op, BinaryOp::LtSigned | BinaryOp::LeSigned) {
                    (self.signed(l, width), self.signed(r, width))
                } else {
                    (l, r)
                };
                let holds = self.b.ins().icmp(condition_code(op), l, r);
                self.b.ins().uextend(types::I64, holds)
            }
        }
    }

    fn saturate_signed(&mut self, op: BinaryOp, l: Value, r: Value, width: u32) -> Value {
        let (l, r) = (self.signed(l, width), self.signed(r, width));
        let add = op == BinaryOp::SatAddSigned;
        let exact = if add { self.b.ins().iadd(l, r) } else { self.b.ins().isub(l, r) };
        if width < 64 {
            let limit = 1i64 << (width - 1);
            let (low, high) = (self.constant(-limit as u64), self.constant((limit - 1) as u64));
            let value = self.b.ins().smax(exact, low);
            let value = self.b.ins().smin(value, high);
            return self.truncate_to(value, width);
        }
        // Overflow: the signs of the operands are equal (addition) or different (subtraction), and
        // the sign of the result differs from that of the left operand.
        let signs = self.b.ins().bxor(l, r);
        let signs = if add { self.b.ins().bnot(signs) } else { signs };
        let turned = self.b.ins().bxor(l, exact);
        let over = self.b.ins().band(signs, turned);
        let over = self.b.ins().icmp_imm(IntCC::SignedLessThan, over, 0);
        let sign = self.b.ins().sshr_imm(l, 63);
        let limit = self.b.ins().bxor_imm(sign, i64::MAX);
        self.b.ins().select(over, limit, exact)
    }

    /// A shift of a value of at most 64 bits.
    fn shift(&mut self, op: BinaryOp, value: Value, amount: Value, width: u32) -> Value {
        if op == BinaryOp::SarSigned {
            let value = self.signed(value, width);
            let max_value = self.constant(63);
            let amount = self.b.ins().umin(amount, max_value);
            let value = self.b.ins().sshr(value, amount);
            return self.truncate_to(value, width);
        }
        let shifted = if op == BinaryOp::Shl {
            let shifted = self.b.ins().ishl(value, amount);
            self.truncate_to(shifted, width)
        } else {
            self.b.ins().ushr(value, amount)
        };
        let over =
            self.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, amount, i64::from(width));
        let zero = self.constant(0);
        self.b.ins().select(over, zero, shifted)
    }
}

fn condition_code(op: BinaryOp) -> IntCC {
    match op {
        BinaryOp::Eq => IntCC::Equal,
        BinaryOp::Ne => IntCC::NotEqual,
        BinaryOp::LtUnsigned => IntCC::UnsignedLessThan,
        BinaryOp::LeUnsigned => IntCC::UnsignedLessThanOrEqual,
        BinaryOp::LtSigned => IntCC::SignedLessThan,
        _ => IntCC::SignedLessThanOrEqual,
    }
}
