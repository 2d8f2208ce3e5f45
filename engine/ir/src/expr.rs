//! Pure expressions.

use serde::{Deserialize, Serialize};

use crate::{Place, StackId, Value};

/// A pure expression. The result is an unsigned bit pattern of [`Expr::width`] bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A place. Reading a field of an invalid header is lowered to
    /// [`Expr::Mux`] only where the language needs 0; executors keep fields of invalid headers 0
    /// (see [`crate::Op::SetInvalid`]).
    Load(Place),
    /// A field of stack element `index` (element 0's place given). Out of range reads 0.
    LoadElement {
        /// The stack.
        stack: StackId,
        /// Which element, any width.
        index: Box<Expr>,
        /// Place in element 0 (of a field or of the validity word with width 1).
        place: Place,
    },
    /// One operand.
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        arg: Box<Expr>,
        /// Result width.
        width: u32,
    },
    /// Two operands.
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Left.
        left: Box<Expr>,
        /// Right (a shift amount may have another width than `left`).
        right: Box<Expr>,
        /// Result width: 1 for comparisons.
        width: u32,
    },
    /// `cond ? then : otherwise`; both are pure, so an executor may evaluate both.
    Mux {
        /// Width 1.
        cond: Box<Expr>,
        /// When 1.
        then: Box<Expr>,
        /// When 0.
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
    /// Cut or extend with zeros to the result width.
    ZeroExtend,
    /// Cut or extend with the sign bit to the result width.
    SignExtend,
}

/// Operators with two operands. Signed variants read operands as two's complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Unsigned, only on constants-positive operands (P4 has no run-time division in v1model, bmv2 accepts it).
    Div,
    Mod,
    SatAddUnsigned,
    SatSubUnsigned,
    SatAddSigned,
    SatSubSigned,
    And,
    Or,
    Xor,
    /// Shifts: an amount of the width or more gives 0 (or all sign bits for `SarSigned`).
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
