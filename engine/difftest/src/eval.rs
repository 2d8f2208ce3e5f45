//! Evaluates expressions of up to 64 bits during the generation of a packet.
//!
//! It is an approximation. If a value is wrong, the packet takes another path, which is harmless.

use netkv_ir::{BinaryOp, Expr, Program, UnaryOp, Value};

use crate::bits::BitString;

fn truncate(value: u64, width: u32) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

fn sign_extend(value: u64, width: u32) -> i64 {
    if width >= 64 { value as i64 } else { ((value << (64 - width)) as i64) >> (64 - width) }
}

/// The value of a place of any width.
pub(crate) fn load(words: &[u64], word: u32, width: u32) -> Value {
    let count = width.div_ceil(64) as usize;
    let found = words.get(word as usize..word as usize + count).unwrap_or(&[]).to_vec();
    Value::from_words(width, found)
}

/// The value of an expression, if it is supported.
pub(crate) fn eval(program: &Program, words: &[u64], expr: &Expr) -> Option<u64> {
    let of = |expr: &Expr| eval(program, words, expr);
    let width = expr.width();
    if width > 64 {
        return None;
    }
    match expr {
        Expr::Const(value) => value.words.first().copied(),
        Expr::Load(place) => words.get(place.word as usize).copied(),
        Expr::LoadElement { stack, index, place } => {
            let (stack, index) = (&program.stacks[*stack as usize], of(index)?);
            if index >= u64::from(stack.size) {
                return Some(0);
            }
            words.get(place.word as usize + index as usize * stack.stride as usize).copied()
        }
        Expr::Unary { op, arg, .. } => {
            let from = arg.width();
            let value = match of(arg) {
                Some(value) => value,
                None if matches!(op, UnaryOp::ZeroExtend | UnaryOp::SignExtend) => {
                    wide(words, arg)?.words[0]
                }
                None => return None,
            };
            Some(truncate(
                match op {
                    UnaryOp::Not => !value,
                    UnaryOp::Neg => value.wrapping_neg(),
                    UnaryOp::ZeroExtend => value,
                    UnaryOp::SignExtend => sign_extend(value, from.min(64)) as u64,
                },
                width,
            ))
        }
        Expr::Binary { op, left, right, .. } => {
            let (a, b, from) = (of(left)?, of(right)?, left.width());
            let signed = (sign_extend(a, from), sign_extend(b, from));
            let value = match op {
                BinaryOp::Add => a.wrapping_add(b),
                BinaryOp::Sub => a.wrapping_sub(b),
                BinaryOp::Mul => a.wrapping_mul(b),
                BinaryOp::And => a & b,
                BinaryOp::Or => a | b,
                BinaryOp::Xor => a ^ b,
                BinaryOp::Shl => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0),
                BinaryOp::Shr => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(0),
                BinaryOp::Eq => u64::from(a == b),
                BinaryOp::Ne => u64::from(a != b),
                BinaryOp::LtUnsigned => u64::from(a < b),
                BinaryOp::LeUnsigned => u64::from(a <= b),
                BinaryOp::LtSigned => u64::from(signed.0 < signed.1),
                BinaryOp::LeSigned => u64::from(signed.0 <= signed.1),
                BinaryOp::SarSigned
                | BinaryOp::SatAddUnsigned
                | BinaryOp::SatSubUnsigned
                | BinaryOp::SatAddSigned
                | BinaryOp::SatSubSigned => return None,
            };
            Some(truncate(value, width))
        }
        Expr::Mux { cond, then, otherwise } => {
            if of(cond)? == 1 {
                of(then)
            } else {
                of(otherwise)
            }
        }
        Expr::Slice { arg, low, .. } => match of(arg) {
            Some(value) => Some(truncate(value >> low, width)),
            None => {
                let whole = wide(words, arg)?;
                let mut bits = BitString::default();
                bits.append(&whole);
                Some(bits.value((whole.width - low - width) as usize, width).words[0])
            }
        },
        Expr::Concat(left, right) => Some(of(left)? << right.width() | of(right)?),
        Expr::PacketLength => Some(64),
    }
}

/// The value of a wide place or constant.
fn wide(words: &[u64], expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Load(place) => Some(load(words, place.word, place.width)),
        Expr::Const(value) => Some(value.clone()),
        _ => None,
    }
}
