//! Constant folding: evaluates operators on constants of any width.

use num_bigint::{BigInt, Sign};

use crate::hir::{BinOp, UnOp};

/// Maximum size of a number without width, in bits.
const MAX_NUMBER_BITS: u32 = 16_384;

/// Representation of a scalar: its width, and whether it is two's complement. `None`: `int`.
pub(crate) type Format = Option<(u32, bool)>;

/// Truncates a value to a format.
pub(crate) fn wrap(value: &BigInt, format: Format) -> BigInt {
    let Some((width, signed)) = format else { return value.clone() };
    let modulus = BigInt::from(1) << width;
    let mut value = value % &modulus;
    if value.sign() == Sign::Minus {
        value += &modulus;
    }
    if signed && value >= (BigInt::from(1) << (width - 1)) {
        value -= modulus;
    }
    value
}

fn saturate(value: BigInt, format: Format) -> BigInt {
    let Some((width, signed)) = format else { return value };
    let one = BigInt::from(1);
    let (low, high) = match signed {
        true => (-(&one << (width - 1)), (&one << (width - 1)) - &one),
        false => (BigInt::ZERO, (&one << width) - &one),
    };
    value.clamp(low, high)
}

/// Result of a binary operator, or a message why there is none. `format` is that of the left
/// operand. Only `++` uses `right_width`.
pub(crate) fn binary(
    op: BinOp,
    left: &BigInt,
    right: &BigInt,
    format: Format,
    right_width: u32,
) -> Result<BigInt, &'static str> {
    let shift = |amount: &BigInt| -> Result<u32, &'static str> {
        match (u32::try_from(amount), format) {
            (Ok(n), None) if n > MAX_NUMBER_BITS => {
                Err("This shift makes a number that is too large.")
            }
            (Ok(n), None) => Ok(n),
            (Ok(n), Some((width, _))) => Ok(n.min(width)),
            (Err(_), _) if amount.sign() == Sign::Minus => {
                Err("A shift by a negative amount has no meaning.")
            }
            (Err(_), Some((width, _))) => Ok(width),
            (Err(_), None) => Err("This shift makes a number that is too large."),
        }
    };
    let truth = |b: bool| BigInt::from(u8::from(b));
    let value = match op {
        BinOp::Add => left + right,
        BinOp::Sub => left - right,
        BinOp::Mul => left * right,
        BinOp::Div | BinOp::Mod => {
            if right.sign() == Sign::NoSign {
                return Err("This divides by zero.");
            }
            if left.sign() == Sign::Minus || right.sign() == Sign::Minus {
                return Err("Division is defined for positive numbers only.");
            }
            if op == BinOp::Div { left / right } else { left % right }
        }
        BinOp::SatAdd => saturate(left + right, format),
        BinOp::SatSub => saturate(left - right, format),
        BinOp::And => left & right,
        BinOp::Or => left | right,
        BinOp::Xor => left ^ right,
        BinOp::Shl => left << shift(right)?,
        // This is an arithmetic shift: it preserves the sign of a negative number.
        BinOp::Shr => left >> shift(right)?,
        BinOp::Eq => truth(left == right),
        BinOp::Ne => truth(left != right),
        BinOp::Lt => truth(left < right),
        BinOp::Le => truth(left <= right),
        BinOp::Gt => truth(left > right),
        BinOp::Ge => truth(left >= right),
        BinOp::LogicalAnd => left & right,
        BinOp::LogicalOr => left | right,
        BinOp::Concat => {
            let unsigned = wrap(right, Some((right_width, false)));
            (left << right_width) | unsigned
        }
    };
    if value.bits() > u64::from(MAX_NUMBER_BITS) {
        return Err("This number is too large.");
    }
    let is_truth = matches!(
        op,
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Concat
    );
    Ok(if is_truth { value } else { wrap(&value, format) })
}

/// Result of a unary operator.
pub(crate) fn unary(op: UnOp, arg: &BigInt, format: Format) -> BigInt {
    let value = match op {
        UnOp::Not => BigInt::from(u8::from(arg.sign() == Sign::NoSign)),
        UnOp::Complement => -arg - 1,
        UnOp::Negate => -arg,
    };
    wrap(&value, format)
}

/// The constant of the IR for a number.
pub(crate) fn to_value(value: &BigInt, width: u32) -> netkv_ir::Value {
    let unsigned = wrap(value, Some((width, false)));
    let (_, words) = unsigned.to_u64_digits();
    netkv_ir::Value::from_words(width, words)
}

/// The number that a constant of the IR represents.
pub(crate) fn from_value(value: &netkv_ir::Value, signed: bool) -> BigInt {
    let bytes = value.to_bytes();
    wrap(&BigInt::from_bytes_be(Sign::Plus, &bytes), Some((value.width, signed)))
}
