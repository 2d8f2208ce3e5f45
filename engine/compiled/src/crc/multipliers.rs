//! What strings are multiplied by, calculated by the compiler.

/// Multipliers for a polynomial of degree 32 without its highest term. The bits of all are
/// exchanged: that of x^32 is bit 0.
pub(super) struct Multipliers {
    /// x^160 and x^96: to take 16 bytes together with the next 16.
    pub(super) fold: [u64; 2],
    /// x^64.
    pub(super) halve: u64,
    /// x^64 divided by the polynomial, and the polynomial.
    pub(super) reduce: [u64; 2],
}

impl Multipliers {
    pub(super) const fn of(polynomial: u32) -> Self {
        let complete = 1 << 32 | polynomial as u64;
        Self {
            fold: [exchanged(power(160, polynomial)), exchanged(power(96, polynomial))],
            halve: exchanged(power(64, polynomial)),
            reduce: [exchanged(quotient(complete)), exchanged(complete)],
        }
    }
}

/// The remainder of x^`exponent`.
const fn power(exponent: u32, polynomial: u32) -> u64 {
    let (mut value, mut at) = (1u32, 0);
    while at < exponent {
        let carry = value >> 31 == 1;
        value = value << 1 ^ if carry { polynomial } else { 0 };
        at += 1;
    }
    value as u64
}

/// x^64 divided by a polynomial of degree 32.
const fn quotient(polynomial: u64) -> u64 {
    let (mut rest, mut quotient, mut degree) = (1u128 << 64, 0, 64);
    while degree >= 32 {
        if rest >> degree & 1 == 1 {
            rest ^= (polynomial as u128) << (degree - 32);
            quotient |= 1 << (degree - 32);
        }
        degree -= 1;
    }
    quotient
}

/// 33 bits in the other order.
const fn exchanged(value: u64) -> u64 {
    value.reverse_bits() >> 31
}
