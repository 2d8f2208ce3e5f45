//! Creates operator expressions of the IR, and folds those with constant operands.

use netkv_ir::{BinaryOp, Expr, UnaryOp, Value};
use num_bigint::BigInt;

use crate::constant_folding;
use crate::hir::BinOp;

fn is_const(expr: &Expr, wanted: u64) -> bool {
    matches!(expr, Expr::Const(v) if v.words[0] == wanted && v.words[1..].iter().all(|w| *w == 0))
}

/// The exponent of a constant that is a power of 2.
fn power_of_two(expr: &Expr) -> Option<u32> {
    let Expr::Const(value) = expr else { return None };
    let value = constant_folding::from_value(value, false);
    let exponent = value.trailing_zeros()?;
    (value == BigInt::from(1) << exponent).then_some(exponent as u32)
}

/// `left / 2^power` or `left % 2^power`, without a division.
fn divide_by_power(op: BinOp, left: Expr, power: u32) -> Expr {
    let width = left.width();
    match op {
        BinOp::Div => {
            let amount = Expr::Const(Value::new(width, u128::from(power)));
            binary(BinOp::Shr, false, left, amount)
        }
        _ => {
            let mask = (BigInt::from(1) << power) - 1;
            let mask = Expr::Const(constant_folding::to_value(&mask, width));
            binary(BinOp::And, false, left, mask)
        }
    }
}

/// True if an operation divides by 0, or at run time by what is not a power of 2, which bmv2 has no
/// instruction for.
pub(super) fn divides(op: BinOp, left: &Expr, right: &Expr) -> bool {
    let known = is_const(left, 0) || matches!((left, right), (Expr::Const(_), Expr::Const(_)));
    matches!(op, BinOp::Div | BinOp::Mod)
        && power_of_two(right).is_none()
        && (!known || is_const(right, 0))
}

/// `left op right`. `signed` is the signedness of the left operand.
pub(super) fn binary(op: BinOp, signed: bool, left: Expr, right: Expr) -> Expr {
    let (left_width, right_width) = (left.width(), right.width());
    let is_truth = matches!(
        op,
        BinOp::Eq
            | BinOp::Ne
            | BinOp::Lt
            | BinOp::Le
            | BinOp::Gt
            | BinOp::Ge
            | BinOp::LogicalAnd
            | BinOp::LogicalOr
    );
    let width = match op {
        BinOp::Concat => left_width + right_width,
        _ if is_truth => 1,
        _ => left_width,
    };
    if let (Expr::Const(a), Expr::Const(b)) = (&left, &right) {
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let a = constant_folding::from_value(a, signed);
        let b = constant_folding::from_value(b, signed && !shift);
        if let Ok(value) =
            constant_folding::binary(op, &a, &b, Some((left_width, signed)), right_width)
        {
            return Expr::Const(constant_folding::to_value(&value, width));
        }
    }
    // Identities with one constant operand.
    match op {
        BinOp::LogicalAnd if is_const(&left, 1) => return right,
        BinOp::LogicalAnd if is_const(&right, 1) || is_const(&left, 0) => return left,
        BinOp::LogicalOr if is_const(&left, 0) => return right,
        BinOp::LogicalOr if is_const(&right, 0) || is_const(&left, 1) => return left,
        BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr
            if is_const(&right, 0) =>
        {
            return left;
        }
        BinOp::Div | BinOp::Mod => {
            if let Some(power) = power_of_two(&right) {
                return divide_by_power(op, left, power);
            }
            if is_const(&left, 0) {
                return left;
            }
        }
        _ => {}
    }
    let (op, swap) = match (op, signed) {
        (BinOp::Add, _) => (BinaryOp::Add, false),
        (BinOp::Sub, _) => (BinaryOp::Sub, false),
        (BinOp::Mul, _) => (BinaryOp::Mul, false),
        // An operation that divides is reported before.
        (BinOp::Div | BinOp::Mod, _) => return left,
        (BinOp::SatAdd, false) => (BinaryOp::SatAddUnsigned, false),
        (BinOp::SatAdd, true) => (BinaryOp::SatAddSigned, false),
        (BinOp::SatSub, false) => (BinaryOp::SatSubUnsigned, false),
        (BinOp::SatSub, true) => (BinaryOp::SatSubSigned, false),
        (BinOp::And | BinOp::LogicalAnd, _) => (BinaryOp::And, false),
        (BinOp::Or | BinOp::LogicalOr, _) => (BinaryOp::Or, false),
        (BinOp::Xor, _) => (BinaryOp::Xor, false),
        (BinOp::Shl, _) => (BinaryOp::Shl, false),
        (BinOp::Shr, false) => (BinaryOp::Shr, false),
        (BinOp::Shr, true) => (BinaryOp::SarSigned, false),
        (BinOp::Eq, _) => (BinaryOp::Eq, false),
        (BinOp::Ne, _) => (BinaryOp::Ne, false),
        (BinOp::Lt, false) => (BinaryOp::LtUnsigned, false),
        (BinOp::Le, false) => (BinaryOp::LeUnsigned, false),
        (BinOp::Gt, false) => (BinaryOp::LtUnsigned, true),
        (BinOp::Ge, false) => (BinaryOp::LeUnsigned, true),
        (BinOp::Lt, true) => (BinaryOp::LtSigned, false),
        (BinOp::Le, true) => (BinaryOp::LeSigned, false),
        (BinOp::Gt, true) => (BinaryOp::LtSigned, true),
        (BinOp::Ge, true) => (BinaryOp::LeSigned, true),
        (BinOp::Concat, _) => return Expr::Concat(Box::new(left), Box::new(right)),
    };
    let (left, right) = if swap { (right, left) } else { (left, right) };
    Expr::Binary { op, left: Box::new(left), right: Box::new(right), width }
}

/// `arg[high:low]`
pub(super) fn slice(arg: Expr, high: u32, low: u32) -> Expr {
    let width = high - low + 1;
    match arg {
        Expr::Const(value) => {
            let number: BigInt = constant_folding::from_value(&value, false) >> low;
            Expr::Const(constant_folding::to_value(&number, width))
        }
        arg if low == 0 && width == arg.width() => arg,
        Expr::Slice { arg, low: inner, .. } => {
            Expr::Slice { arg, high: high + inner, low: low + inner }
        }
        arg => Expr::Slice { arg: Box::new(arg), high, low },
    }
}

/// Converts to another width: truncates, or extends with zeros or the sign.
pub(super) fn extend(arg: Expr, signed: bool, width: u32) -> Expr {
    if arg.width() == width {
        return arg;
    }
    if let Expr::Const(value) = &arg {
        return Expr::Const(constant_folding::to_value(
            &constant_folding::from_value(value, signed),
            width,
        ));
    }
    if width < arg.width() {
        return slice(arg, width - 1, 0);
    }
    let op = if signed { UnaryOp::SignExtend } else { UnaryOp::ZeroExtend };
    Expr::Unary { op, arg: Box::new(arg), width }
}
