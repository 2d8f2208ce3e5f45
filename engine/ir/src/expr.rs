//! Pure expressions.

use serde::{Deserialize, Serialize};

use crate::{Place, StackId, Value};

/// A pure expression. The result is an unsigned bit pattern of [`Expr::width`] bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// Value of a place. Fields of an invalid header read 0, because executors set them to 0
    /// (see [`crate::Op::SetInvalid`]).
    Load(Place),
    /// A field of stack element `index`. If the index is out of range, the value is 0.
    LoadElement {
        /// The stack.
        stack: StackId,
        /// Index of the element, any width.
        index: Box<Expr>,
        /// Place of the field in element 0, or of its validity word with width 1.
        place: Place,
    },
    /// A unary operation.
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        arg: Box<Expr>,
        /// Result width.
        width: u32,
    },
    /// A binary operation.
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand. A shift amount may have another width than `left`.
        right: Box<Expr>,
        /// Result width: 1 for comparisons.
        width: u32,
    },
    /// `cond ? then : otherwise`. Both values are pure, so an executor may evaluate both.
    Mux {
        /// Condition, width 1.
        cond: Box<Expr>,
        /// Value if the condition is 1.
        then: Box<Expr>,
        /// Value if the condition is 0.
        otherwise: Box<Expr>,
    },
    /// `arg[high:low]`; width is `high - low + 1`.
    Slice {
        /// Operand.
        arg: Box<Expr>,
        /// Highest bit.
        high: u32,
        /// Lowest bit.
        low: u32,
    },
    /// `left ++ right`.
    Concat(Box<Expr>, Box<Expr>),
    /// `packet.length()` in the parser: bytes of the packet (32 bits).
    PacketLength,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `~`
    Not,
    /// `-`, modulo 2^w.
    Neg,
    /// Truncate, or extend with zeros, to the result width.
    ZeroExtend,
    /// Truncate, or extend with the sign bit, to the result width.
    SignExtend,
}

/// Operators with two operands. Signed variants read operands as two's complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    SatAddUnsigned,
    SatSubUnsigned,
    SatAddSigned,
    SatSubSigned,
    And,
    Or,
    Xor,
    /// Shifts. If the amount is at least the width, the result is 0 (`SarSigned`: all sign bits).
    Shl,
    Shr,
    SarSigned,
    Eq,
    Ne,
    LtUnsigned,
    LeUnsigned,
    LtSigned,
    LeSigned,
}

impl Expr {
    /// Width of the result in bits.
    pub fn width(&self) -> u32 {
        match self {
            Expr::Const(value) => value.width,
            Expr::Load(place) | Expr::LoadElement { place, .. } => place.width,
            Expr::Unary { width, .. } | Expr::Binary { width, .. } => *width,
            Expr::Mux { then, .. } => then.width(),
            Expr::Slice { high, low, .. } => high - low + 1,
            Expr::Concat(left, right) => left.width() + right.width(),
            Expr::PacketLength => 32,
        }
    }
}
