//! Arithmetic on little-endian words, for values wider than 64 bits.
//!
//! All functions work in place, modulo 2^64n. The caller truncates the result to its width.

use std::cmp::Ordering;

use crate::bits::mask;

/// Number of words of a value of `width` bits.
pub(crate) const fn words(width: u32) -> usize {
    width.div_ceil(64) as usize
}

/// Clears the bits from `width` on.
pub(crate) fn cut(value: &mut [u64], width: u32) {
    let full = (width / 64) as usize;
    for (i, word) in value.iter_mut().enumerate().skip(full) {
        *word &= if i == full { mask(width % 64) } else { 0 };
    }
}

/// Bit `at`.
pub(crate) fn bit(value: &[u64], at: u32) -> bool {
    value.get((at / 64) as usize).is_some_and(|word| (word >> (at % 64)) & 1 == 1)
}

/// Sets the bits `from..to`.
pub(crate) fn set_bits(value: &mut [u64], from: u32, to: u32) {
    for (i, word) in value.iter_mut().enumerate() {
        let start = 64 * i as u32;
        *word |= mask(to.saturating_sub(start)) & !mask(from.saturating_sub(start));
    }
}

/// `a += b`; returns the carry.
pub(crate) fn add(a: &mut [u64], b: &[u64]) -> bool {
    let mut carry = false;
    for (a, b) in a.iter_mut().zip(b) {
        let (sum, first) = a.overflowing_add(*b);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        *a = sum;
        carry = first || second;
    }
    carry
}

/// `a -= b`; returns the borrow.
pub(crate) fn sub(a: &mut [u64], b: &[u64]) -> bool {
    let mut borrow = false;
    for (a, b) in a.iter_mut().zip(b) {
        let (rest, first) = a.overflowing_sub(*b);
        let (rest, second) = rest.overflowing_sub(u64::from(borrow));
        *a = rest;
        borrow = first || second;
    }
    borrow
}

/// `a = -a`.
pub(crate) fn neg(a: &mut [u64]) {
    let mut carry = true;
    for word in a {
        let (sum, next) = (!*word).overflowing_add(u64::from(carry));
        *word = sum;
        carry = next;
    }
}

/// `out = a * b`, truncated to the length of `out`. `out` must be 0 before.
pub(crate) fn mul(a: &[u64], b: &[u64], out: &mut [u64]) {
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (out, y) in out[i..].iter_mut().zip(b) {
            let sum = u128::from(*x) * u128::from(*y) + u128::from(*out) + carry;
            *out = sum as u64;
            carry = sum >> 64;
        }
    }
}

/// `a <<= amount`.
pub(crate) fn shl(a: &mut [u64], amount: u32) {
    let (skip, bits) = ((amount / 64) as usize, amount % 64);
    for i in (0..a.len()).rev() {
        let high = if i >= skip { a[i - skip] } else { 0 };
        let low = if i > skip { a[i - skip - 1] } else { 0 };
        a[i] = if bits == 0 { high } else { (high << bits) | (low >> (64 - bits)) };
    }
}

/// `a >>= amount`, with zeros from the left.
pub(crate) fn shr(a: &mut [u64], amount: u32) {
    let (skip, bits) = ((amount / 64) as usize, amount % 64);
    for i in 0..a.len() {
        let low = a.get(i + skip).copied().unwrap_or(0);
        let high = a.get(i + skip + 1).copied().unwrap_or(0);
        a[i] = if bits == 0 { low } else { (low >> bits) | (high << (64 - bits)) };
    }
}

/// Compares two unsigned values of equal length.
pub(crate) fn compare(a: &[u64], b: &[u64]) -> Ordering {
    debug_assert_eq!(a.len(), b.len());
    a.iter().rev().cmp(b.iter().rev())
}

/// Compares two values as two's complement of `width` bits.
pub(crate) fn compare_signed(a: &[u64], b: &[u64], width: u32) -> Ordering {
    match (bit(a, width - 1), bit(b, width - 1)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => compare(a, b),
    }
}

/// Replaces `width` bits of the target, from bit `low` on, by the low bits of `source`.
pub(crate) fn deposit(target: &mut [u64], low: u32, width: u32, source: &[u64]) {
    for (i, word) in source.iter().enumerate() {
        let from = 64 * i as u32;
        if from >= width {
            break;
        }
        let keep = mask(width - from);
        let (at, shift) = (((low + from) / 64) as usize, (low + from) % 64);
        let value = *word & keep;
        target[at] = (target[at] & !(keep << shift)) | (value << shift);
        if shift > 0
            && let Some(next) = target.get_mut(at + 1)
        {
            *next = (*next & !(keep >> (64 - shift))) | (value >> (64 - shift));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(value: u128) -> [u64; 2] {
        [value as u64, (value >> 64) as u64]
    }

    fn join(value: &[u64]) -> u128 {
        u128::from(value[0]) | (u128::from(value[1]) << 64)
    }

    const SAMPLES: [u128; 7] = [
        0,
        1,
        0xffff_ffff_ffff_ffff,
        0x1_0000_0000_0000_0000,
        0x1234_5678_9abc_def0_0fed_cba9_8765_4321,
        u128::MAX - 1,
        u128::MAX,
    ];

    #[test]
    fn arithmetic_on_words_equals_u128() {
        for x in SAMPLES {
            for y in SAMPLES {
                let (a, b) = (split(x), split(y));
                let mut sum = a;
                assert_eq!(add(&mut sum, &b), x.checked_add(y).is_none());
                assert_eq!(join(&sum), x.wrapping_add(y));
                let mut rest = a;
                assert_eq!(sub(&mut rest, &b), x < y);
                assert_eq!(join(&rest), x.wrapping_sub(y));
                let mut product = [0; 2];
                mul(&a, &b, &mut product);
                assert_eq!(join(&product), x.wrapping_mul(y));
                assert_eq!(compare(&a, &b), x.cmp(&y));
                assert_eq!(compare_signed(&a, &b, 128), (x as i128).cmp(&(y as i128)));
            }
            for amount in [0, 1, 63, 64, 65, 127] {
                let (mut left, mut right) = (split(x), split(x));
                shl(&mut left, amount);
                shr(&mut right, amount);
                assert_eq!((join(&left), join(&right)), (x << amount, x >> amount));
            }
        }
    }

    #[test]
    fn deposit_changes_only_its_bits_across_words() {
        let mut target = [u64::MAX, 0, u64::MAX];
        deposit(&mut target, 60, 70, &[0x5555_5555_5555_5555, 0x15]);
        assert_eq!(target, [0x5fff_ffff_ffff_ffff, 0x5555_5555_5555_5555, !3 | 1]);
    }
}
