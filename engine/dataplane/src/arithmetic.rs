//! Evaluates P4's binary operators.

use netkv_ir::BinaryOp;

use crate::bits::mask;
use crate::wide;

/// Interprets a bit pattern of `width` bits as two's complement.
#[inline]
pub(crate) const fn signed(value: u64, width: u32) -> i64 {
    let shift = 64 - width;
    ((value << shift) as i64) >> shift
}

/// Result of an operator on operands of `width` bits, at most 64.
#[inline]
pub(crate) fn binary(op: BinaryOp, left: u64, right: u64, width: u32) -> u64 {
    let all = mask(width);
    match op {
        BinaryOp::Add => left.wrapping_add(right) & all,
        BinaryOp::Sub => left.wrapping_sub(right) & all,
        BinaryOp::Mul => left.wrapping_mul(right) & all,
        BinaryOp::SatAddUnsigned => left.checked_add(right).unwrap_or(all).min(all),
        BinaryOp::SatSubUnsigned => left.saturating_sub(right),
        BinaryOp::SatAddSigned | BinaryOp::SatSubSigned => {
            let (left, right) = (signed(left, width), signed(right, width));
            let exact = if op == BinaryOp::SatAddSigned {
                i128::from(left) + i128::from(right)
            } else {
                i128::from(left) - i128::from(right)
            };
            let limit = 1i128 << (width - 1);
            exact.clamp(-limit, limit - 1) as u64 & all
        }
        BinaryOp::And => left & right,
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        BinaryOp::Shl if right >= u64::from(width) => 0,
        BinaryOp::Shl => (left << right) & all,
        BinaryOp::Shr if right >= u64::from(width) => 0,
        BinaryOp::Shr => left >> right,
        BinaryOp::SarSigned => (signed(left, width) >> right.min(63)) as u64 & all,
        BinaryOp::Eq => u64::from(left == right),
        BinaryOp::Ne => u64::from(left != right),
        BinaryOp::LtUnsigned => u64::from(left < right),
        BinaryOp::LeUnsigned => u64::from(left <= right),
        BinaryOp::LtSigned => u64::from(signed(left, width) < signed(right, width)),
        BinaryOp::LeSigned => u64::from(signed(left, width) <= signed(right, width)),
    }
}

/// Replaces the two operands of `width` bits that start at `scratch[at]` by the result.
pub fn binary_wide(op: BinaryOp, scratch: &mut Vec<u64>, at: usize, width: u32) {
    let count = wide::words(width);
    if op == BinaryOp::Mul {
        scratch.resize(at + 3 * count, 0);
    }
    let (left, rest) = scratch[at..].split_at_mut(count);
    let (right, spare) = rest.split_at_mut(count);
    match op {
        BinaryOp::Add => {
            wide::add(left, right);
        }
        BinaryOp::Sub => {
            wide::sub(left, right);
        }
        BinaryOp::Mul => {
            wide::mul(left, right, spare);
            left.copy_from_slice(spare);
        }
        BinaryOp::SatAddUnsigned => {
            let carry = wide::add(left, right);
            let over = !width.is_multiple_of(64) && wide::bit(left, width);
            if carry || over {
                left.fill(u64::MAX);
            }
        }
        BinaryOp::SatSubUnsigned => {
            if wide::sub(left, right) {
                left.fill(0);
            }
        }
        BinaryOp::SatAddSigned | BinaryOp::SatSubSigned => {
            let (negative, other) = (wide::bit(left, width - 1), wide::bit(right, width - 1));
            let same = if op == BinaryOp::SatAddSigned {
                wide::add(left, right);
                negative == other
            } else {
                wide::sub(left, right);
                negative != other
            };
            if same && wide::bit(left, width - 1) != negative {
                left.fill(0);
                let (from, to) = if negative { (width - 1, width) } else { (0, width - 1) };
                wide::set_bits(left, from, to);
            }
        }
        BinaryOp::And => left.iter_mut().zip(right).for_each(|(l, r)| *l &= *r),
        BinaryOp::Or => left.iter_mut().zip(right).for_each(|(l, r)| *l |= *r),
        _ => {
            debug_assert_eq!(op, BinaryOp::Xor, "shifts and comparisons have forms of their own");
            left.iter_mut().zip(right).for_each(|(l, r)| *l ^= *r);
        }
    }
    wide::cut(left, width);
    scratch.truncate(at + count);
}

/// Shifts a value of `width` bits in place. If the amount is at least the width, the result is 0,
/// or all sign bits for [`BinaryOp::SarSigned`].
pub fn shift_wide(op: BinaryOp, value: &mut [u64], amount: u64, width: u32) {
    let amount = amount.min(u64::from(width)) as u32;
    let negative = op == BinaryOp::SarSigned && wide::bit(value, width - 1);
    if op == BinaryOp::Shl {
        wide::shl(value, amount);
    } else {
        wide::shr(value, amount);
    }
    if negative {
        wide::set_bits(value, width - amount, width);
    }
    wide::cut(value, width);
}
