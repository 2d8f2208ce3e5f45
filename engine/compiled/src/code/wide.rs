//! Compiles arithmetic on values of more than 64 bits, as sequences of machine words.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use netkv_dataplane::mask;
use netkv_ir::{BinaryOp, Expr, UnaryOp};

use super::builder::Builder;
use super::expr::words;
use crate::helpers::{self, WIDE_OPS};

impl Builder<'_> {
    /// The bitwise or of all words; none if there are none.
    pub(super) fn any_bits(&mut self, words: &[Value]) -> Option<Value> {
        words.iter().copied().reduce(|all, word| self.b.ins().bor(all, word))
    }

    pub(super) fn truncate_top_word(&mut self, value: &mut [Value], width: u32) {
        if !width.is_multiple_of(64)
            && let Some(last) = value.last_mut()
        {
            *last = self.b.ins().band_imm(*last, mask(width % 64) as i64);
        }
    }

    pub(super) fn unary_wide(
        &mut self,
        op: UnaryOp,
        arg: Vec<Value>,
        from: u32,
        width: u32,
    ) -> Vec<Value> {
        let count = words(width);
        let mut value = match op {
            UnaryOp::Not => arg.iter().map(|word| self.b.ins().bnot(*word)).collect(),
            UnaryOp::Neg => {
                let zero = vec![self.constant(0); count];
                self.subtract(&zero, &arg).0
            }
            UnaryOp::ZeroExtend => {
                let mut value = arg;
                let zero = self.constant(0);
                value.resize(count, zero);
                value
            }
            UnaryOp::SignExtend => {
                let mut value = arg;
                if width > from {
                    let top = value.len() - 1;
                    value[top] = self.signed(value[top], from - 64 * top as u32);
                    let sign = self.b.ins().sshr_imm(value[top], 63);
                    value.resize(count, sign);
                } else {
                    value.truncate(count);
                }
                value
            }
        };
        self.truncate_top_word(&mut value, width);
        value
    }

    pub(super) fn shift_wide(
        &mut self,
        op: BinaryOp,
        value: Vec<Value>,
        amount: &Expr,
        width: u32,
    ) -> Vec<Value> {
        if let Expr::Const(amount) = amount
            && op != BinaryOp::SarSigned
        {
            let fits = amount.words[1..].iter().all(|word| *word == 0);
            let amount =
                if fits { amount.words[0].min(u64::from(width)) } else { u64::from(width) };
            let amount = amount as u32;
            let mut value = if op == BinaryOp::Shl {
                self.shift_left(&value, amount, words(width))
            } else {
                let zero = self.constant(0);
                let mut value = self.shift_right(&value, amount);
                value.resize(words(width), zero);
                value
            };
            self.truncate_top_word(&mut value, width);
            return value;
        }
        let amount = self.saturated(amount);
        let operator = self.constant(wide_op(op));
        let (at, bits) = (self.spill(&value), self.constant(u64::from(width)));
        self.call(helpers::shift as *const (), &[operator, at, amount, bits], false);
        self.reload(at, value.len())
    }

    pub(super) fn binary_wide(
        &mut self,
        op: BinaryOp,
        left: &[Value],
        right: &[Value],
        width: u32,
    ) -> Vec<Value> {
        let mut value = match op {
            BinaryOp::Add => self.add(left, right),
            BinaryOp::Sub => self.subtract(left, right).0,
            BinaryOp::And => self.word_by_word(left, right, |b, l, r| b.b.ins().band(l, r)),
            BinaryOp::Or => self.word_by_word(left, right, |b, l, r| b.b.ins().bor(l, r)),
            BinaryOp::Xor => self.word_by_word(left, right, |b, l, r| b.b.ins().bxor(l, r)),
            _ => {
                let operator = self.constant(wide_op(op));
                let (to, from) = (self.spill(left), self.spill(right));
                let bits = self.constant(u64::from(width));
                self.call(helpers::wide as *const (), &[operator, to, from, bits], false);
                return self.reload(to, left.len());
            }
        };
        self.truncate_top_word(&mut value, width);
        value
    }

    pub(super) fn word_by_word(
        &mut self,
        left: &[Value],
        right: &[Value],
        mut op: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Vec<Value> {
        left.iter().zip(right).map(|(left, right)| op(self, *left, *right)).collect()
    }

    pub(super) fn add(&mut self, left: &[Value], right: &[Value]) -> Vec<Value> {
        let mut carry: Option<Value> = None;
        self.word_by_word(left, right, |b, l, r| {
            let sum = b.b.ins().iadd(l, r);
            let over = b.b.ins().icmp(IntCC::UnsignedLessThan, sum, l);
            let over = b.b.ins().uextend(types::I64, over);
            let (sum, over) = match carry {
                None => (sum, over),
                Some(carry) => {
                    let all = b.b.ins().iadd(sum, carry);
                    let again = b.b.ins().icmp(IntCC::UnsignedLessThan, all, sum);
                    let again = b.b.ins().uextend(types::I64, again);
                    (all, b.b.ins().bor(over, again))
                }
            };
            carry = Some(over);
            sum
        })
    }

    /// The difference, and whether it borrows (0 or 1).
    pub(super) fn subtract(&mut self, left: &[Value], right: &[Value]) -> (Vec<Value>, Value) {
        let mut borrow: Option<Value> = None;
        let difference = self.word_by_word(left, right, |b, l, r| {
            let rest = b.b.ins().isub(l, r);
            let under = b.b.ins().icmp(IntCC::UnsignedLessThan, l, r);
            let under = b.b.ins().uextend(types::I64, under);
            let (rest, under) = match borrow {
                None => (rest, under),
                Some(borrow) => {
                    let all = b.b.ins().isub(rest, borrow);
                    let again = b.b.ins().icmp(IntCC::UnsignedLessThan, rest, borrow);
                    let again = b.b.ins().uextend(types::I64, again);
                    (all, b.b.ins().bor(under, again))
                }
            };
            borrow = Some(under);
            rest
        });
        let zero = self.constant(0);
        (difference, borrow.unwrap_or(zero))
    }

    /// A comparison, as a condition.
    pub(super) fn compare_wide(
        &mut self,
        op: BinaryOp,
        mut left: Vec<Value>,
        mut right: Vec<Value>,
        width: u32,
    ) -> Value {
        match op {
            BinaryOp::Eq => self.equal(&left, &right),
            BinaryOp::Ne => {
                let equal = self.equal(&left, &right);
                self.b.ins().icmp_imm(IntCC::Equal, equal, 0)
            }
            _ => {
                if matches!(op, BinaryOp::LtSigned | BinaryOp::LeSigned) {
                    // With the sign bit inverted, signed values compare like unsigned ones.
                    let sign = 1u64 << ((width - 1) % 64);
                    for value in [&mut left, &mut right] {
                        if let Some(last) = value.last_mut() {
                            *last = self.b.ins().bxor_imm(*last, sign as i64);
                        }
                    }
                }
                if matches!(op, BinaryOp::LtUnsigned | BinaryOp::LtSigned) {
                    self.less(&left, &right)
                } else {
                    let greater = self.less(&right, &left);
                    self.b.ins().icmp_imm(IntCC::Equal, greater, 0)
                }
            }
        }
    }

    /// Whether two values are equal, as a condition.
    pub(super) fn equal(&mut self, left: &[Value], right: &[Value]) -> Value {
        if let ([left], [right]) = (left, right) {
            return self.b.ins().icmp(IntCC::Equal, *left, *right);
        }
        let different = self.word_by_word(left, right, |b, l, r| b.b.ins().bxor(l, r));
        let zero = self.constant(0);
        let different = self.any_bits(&different).unwrap_or(zero);
        self.b.ins().icmp_imm(IntCC::Equal, different, 0)
    }

    /// Unsigned `left < right`, as a condition.
    pub(super) fn less(&mut self, left: &[Value], right: &[Value]) -> Value {
        if let ([left], [right]) = (left, right) {
            return self.b.ins().icmp(IntCC::UnsignedLessThan, *left, *right);
        }
        let borrow = self.subtract(left, right).1;
        self.b.ins().icmp_imm(IntCC::NotEqual, borrow, 0)
    }

    /// `width` bits, starting at bit `low`.
    pub(super) fn slice(&mut self, value: &[Value], low: u32, width: u32) -> Vec<Value> {
        let mut value = self.shift_right(value, low);
        value.truncate(words(width));
        self.truncate_top_word(&mut value, width);
        value
    }

    /// `left ++ right`, where `right` has `shift` bits.
    pub(super) fn concat(
        &mut self,
        left: &[Value],
        right: &[Value],
        shift: u32,
        width: u32,
    ) -> Vec<Value> {
        let mut value = self.shift_left(left, shift, words(width));
        for (word, low) in value.iter_mut().zip(right) {
            *word = self.b.ins().bor(*word, *low);
        }
        value
    }

    /// Shifts right by a constant.
    pub(super) fn shift_right(&mut self, value: &[Value], amount: u32) -> Vec<Value> {
        let (skip, bits) = ((amount / 64) as usize, i64::from(amount % 64));
        let live_after_stop = value.get(skip..).unwrap_or(&[]);
        if live_after_stop.is_empty() {
            return vec![self.constant(0)];
        }
        if bits == 0 {
            return live_after_stop.to_vec();
        }
        (0..live_after_stop.len())
            .map(|i| {
                let low = self.b.ins().ushr_imm(live_after_stop[i], bits);
                match live_after_stop.get(i + 1) {
                    None => low,
                    Some(next) => {
                        let high = self.b.ins().ishl_imm(*next, 64 - bits);
                        self.b.ins().bor(low, high)
                    }
                }
            })
            .collect()
    }

    /// Shifts left by a constant, to `count` words. The result is not truncated to a width.
    pub(super) fn shift_left(&mut self, value: &[Value], amount: u32, count: usize) -> Vec<Value> {
        let (skip, bits) = ((amount / 64) as usize, i64::from(amount % 64));
        let zero = self.constant(0);
        let at = |i: usize| i.checked_sub(skip).and_then(|i| value.get(i)).copied();
        (0..count)
            .map(|i| {
                let high = at(i);
                if bits == 0 {
                    return high.unwrap_or(zero);
                }
                let below = i.checked_sub(1).and_then(&at);
                let high = high.map(|word| self.b.ins().ishl_imm(word, bits));
                let below = below.map(|word| self.b.ins().ushr_imm(word, 64 - bits));
                match (high, below) {
                    (Some(high), Some(below)) => self.b.ins().bor(high, below),
                    (one, other) => one.or(other).unwrap_or(zero),
                }
            })
            .collect()
    }
}

/// The number of an operator in the helper's table.
fn wide_op(op: BinaryOp) -> u64 {
    let at = WIDE_OPS.iter().position(|other| *other == op);
    at.expect("operators without a form of their own are computed by the helper") as u64
}
