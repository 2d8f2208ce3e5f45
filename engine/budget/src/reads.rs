//! The words that an expression reads, and the number of operations between each read and the
//! result.
//!
//! An ALU of a stage reads fields as they were at the entry of the stage, does one operation and
//! writes one field. A stage evaluates comparisons (of two fields, or of a field with a constant)
//! before its ALUs work. Slices, zero extensions and concatenations are free.

use netkv_ir::{BinaryOp, Expr, Place, Program, UnaryOp, Word};

/// A word that an operation reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) word: Word,
    /// The number of bits in use.
    pub(crate) bits: u32,
    /// The number of ALU operations between the read and the last operation.
    pub(crate) depth: u32,
}

/// Collects the reads of an operation.
pub(crate) struct Reads<'a> {
    pub(crate) program: &'a Program,
    pub(crate) found: Vec<Read>,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        Self { program, found: Vec::new() }
    }

    /// Adds whole words.
    pub(crate) fn words(&mut self, word: Word, count: u32, depth: u32) {
        self.found.extend((word..word + count).map(|word| Read { word, bits: 64, depth }));
    }

    /// Adds the validity bit of a header.
    pub(crate) fn flag(&mut self, word: Word) {
        self.found.push(Read { word, bits: 1, depth: 0 });
    }

    fn place(&mut self, place: Place, depth: u32) {
        let last = place.words() - 1;
        self.found.extend((0..=last).map(|at| {
            let bits = if at == last { place.width - 64 * last } else { 64 };
            Read { word: place.word + at, bits, depth }
        }));
    }

    /// Adds the reads of an expression whose last operation is the operation of the node.
    pub(crate) fn result(&mut self, expr: &Expr, depth: u32) {
        match expr {
            Expr::Const(_) | Expr::PacketLength | Expr::Load(_) | Expr::LoadElement { .. } => {
                self.operand(expr, depth);
            }
            Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
                self.result(arg, depth);
            }
            Expr::Concat(left, right) => {
                self.result(left, depth);
                self.result(right, depth);
            }
            Expr::Mux { cond, then, otherwise } => {
                self.condition(cond, depth);
                self.result(then, depth);
                self.result(otherwise, depth);
            }
            _ if is_condition(expr) => self.condition(expr, depth),
            Expr::Unary { arg, .. } => self.operand(arg, depth),
            Expr::Binary { left, right, .. } => {
                self.operand(left, depth);
                self.operand(right, depth);
            }
        }
    }

    /// Adds the reads of an operand, whose value must exist before the operation of the node.
    pub(crate) fn operand(&mut self, expr: &Expr, depth: u32) {
        match expr {
            Expr::Const(_) | Expr::PacketLength => {}
            Expr::Load(place) => self.place(*place, depth),
            Expr::LoadElement { stack, index, place } => {
                self.operand(index, depth);
                let stack = &self.program.stacks[*stack as usize];
                for element in 0..stack.size {
                    let word = place.word + element * stack.stride;
                    self.place(Place { word, ..*place }, depth);
                }
            }
            Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
                self.operand(arg, depth);
            }
            Expr::Concat(left, right) => {
                self.operand(left, depth);
                self.operand(right, depth);
            }
            _ => self.result(expr, depth + 1),
        }
    }

    /// Adds the reads of a condition that the stage of the operation evaluates.
    pub(crate) fn condition(&mut self, cond: &Expr, depth: u32) {
        match cond {
            Expr::Unary { op: UnaryOp::Not, arg, width: 1 } => self.condition(arg, depth),
            Expr::Mux { cond, then, otherwise } => {
                self.condition(cond, depth);
                self.condition(then, depth);
                self.condition(otherwise, depth);
            }
            Expr::Binary { op, left, right, .. } if is_condition(cond) => {
                if left.width() == 1 && right.width() == 1 {
                    self.condition(left, depth);
                    self.condition(right, depth);
                    return;
                }
                // An order comparison of two fields needs their difference, one more operation.
                let constant = |side: &Expr| matches!(side, Expr::Const(_));
                let ordered = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
                let before = u32::from(ordered && !constant(left) && !constant(right));
                self.operand(left, depth + before);
                self.operand(right, depth + before);
            }
            _ => self.operand(cond, depth),
        }
    }
}

/// Whether an expression is a comparison or a logical operation.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Unary { op: UnaryOp::Not, width: 1, .. } => true,
        Expr::Binary { op, left, right, .. } => match op {
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::LtUnsigned
            | BinaryOp::LeUnsigned
            | BinaryOp::LtSigned
            | BinaryOp::LeSigned => true,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => left.width() == 1 && right.width() == 1,
            _ => false,
        },
        _ => false,
    }
}

/// Length of the longest chain of ALU operations in an expression, without comparisons.
pub(crate) fn steps(expr: &Expr) -> u32 {
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => 0,
        Expr::LoadElement { index, .. } => steps(index),
        Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => steps(arg),
        Expr::Unary { arg, .. } => steps(arg) + u32::from(!is_condition(expr)),
        Expr::Binary { left, right, .. } => {
            steps(left).max(steps(right)) + u32::from(!is_condition(expr))
        }
        Expr::Concat(left, right) => steps(left).max(steps(right)),
        Expr::Mux { cond, then, otherwise } => steps(cond).max(steps(then)).max(steps(otherwise)),
    }
}

/// Whether an expression needs no ALU: it consists of slices and concatenations only.
pub(crate) fn is_wiring(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => true,
        Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
            is_wiring(arg)
        }
        Expr::Concat(left, right) => is_wiring(left) && is_wiring(right),
        _ => false,
    }
}
