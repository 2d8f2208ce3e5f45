//! Operators of the representation, folded where both sides are known.

use netkv_ir::{BinaryOp, Expr, UnaryOp};
use num_bigint::BigInt;

use crate::fold;
use crate::hir::BinOp;

fn is_const(expr: &Expr, wanted: u64) -> bool {
    matches!(expr, Expr::Const(v) if v.words[0] == wanted && v.words[1..].iter().all(|w| *w == 0))
}

/// `left op right`; `signed` is that of the left operand.
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
            | BinOp::Both
            | BinOp::Either
    );
    let width = match op {
        BinOp::Concat => left_width + right_width,
        _ if is_truth => 1,
        _ => left_width,
    };
    if let (Expr::Const(a), Expr::Const(b)) = (&left, &right) {
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let a = fold::from_value(a, signed);
        let b = fold::from_value(b, signed && !shift);
        if let Ok(value) = fold::binary(op, &a, &b, Some((left_width, signed)), right_width) {
            return Expr::Const(fold::to_value(&value, width));
        }
    }
    // What a constant on one side settles.
    match op {
        BinOp::Both if is_const(&left, 1) => return right,
        BinOp::Both if is_const(&right, 1) || is_const(&left, 0) => return left,
        BinOp::Either if is_const(&left, 0) => return right,
        BinOp::Either if is_const(&right, 0) || is_const(&left, 1) => return left,
        BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr
            if is_const(&right, 0) =>
        {
            return left;
        }
        _ => {}
    }
    let (op, swap) = match (op, signed) {
        (BinOp::Add, _) => (BinaryOp::Add, false),
        (BinOp::Sub, _) => (BinaryOp::Sub, false),
        (BinOp::Mul, _) => (BinaryOp::Mul, false),
        (BinOp::Div, _) => (BinaryOp::Div, false),
        (BinOp::Mod, _) => (BinaryOp::Mod, false),
        (BinOp::SatAdd, false) => (BinaryOp::SatAddUnsigned, false),
        (BinOp::SatAdd, true) => (BinaryOp::SatAddSigned, false),
        (BinOp::SatSub, false) => (BinaryOp::SatSubUnsigned, false),
        (BinOp::SatSub, true) => (BinaryOp::SatSubSigned, false),
        (BinOp::And | BinOp::Both, _) => (BinaryOp::And, false),
        (BinOp::Or | BinOp::Either, _) => (BinaryOp::Or, false),
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
            let number: BigInt = fold::from_value(&value, false) >> low;
            Expr::Const(fold::to_value(&number, width))
        }
        arg if low == 0 && width == arg.width() => arg,
        Expr::Slice { arg, low: inner, .. } => {
            Expr::Slice { arg, high: high + inner, low: low + inner }
        }
        arg => Expr::Slice { arg: Box::new(arg), high, low },
    }
}

/// To another width: cut, or extended with zeros or the sign.
pub(super) fn extend(arg: Expr, signed: bool, width: u32) -> Expr {
    if arg.width() == width {
        return arg;
    }
    if let Expr::Const(value) = &arg {
        return Expr::Const(fold::to_value(&fold::from_value(value, signed), width));
    }
    if width < arg.width() {
        return slice(arg, width - 1, 0);
    }
    let op = if signed { UnaryOp::SignExtend } else { UnaryOp::ZeroExtend };
    Expr::Unary { op, arg: Box::new(arg), width }
}
