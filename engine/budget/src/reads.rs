//! What an expression reads, and how many operations lie between a read and the result.
//!
//! The ALUs of a stage take fields as they were when the packet came into it, do one operation and
//! write one field. A stage decides on comparisons (of fields with each other, and of a field with
//! a constant) before its ALUs work. Cutting, extending with zeros and joining costs nothing.

use netkv_ir::{BinaryOp, Expr, Place, Program, UnaryOp, Word};

/// A word that an operation reads, so many operations before its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) word: Word,
    /// How much of the word is used.
    pub(crate) bits: u32,
    pub(crate) depth: u32,
}

/// Collects reads.
pub(crate) struct Reads<'a> {
    pub(crate) program: &'a Program,
    pub(crate) found: Vec<Read>,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        Self { program, found: Vec::new() }
    }

    /// Whole words.
    pub(crate) fn words(&mut self, word: Word, count: u32, depth: u32) {
        self.found.extend((word..word + count).map(|word| Read { word, bits: 64, depth }));
    }

    /// Whether a header is valid.
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

    /// The operation itself makes this value.
    pub(crate) fn made(&mut self, expr: &Expr, depth: u32) {
        match expr {
            Expr::Const(_) | Expr::PacketLength | Expr::Load(_) | Expr::LoadElement { .. } => {
                self.ready(expr, depth);
            }
            Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
                self.made(arg, depth);
            }
            Expr::Concat(left, right) => {
                self.made(left, depth);
                self.made(right, depth);
            }
            Expr::Mux { cond, then, otherwise } => {
                self.decided(cond, depth);
                self.made(then, depth);
                self.made(otherwise, depth);
            }
            _ if decides(expr) => self.decided(expr, depth),
            Expr::Unary { arg, .. } => self.ready(arg, depth),
            Expr::Binary { left, right, .. } => {
                self.ready(left, depth);
                self.ready(right, depth);
            }
        }
    }

    /// The value is there when the operation begins.
    pub(crate) fn ready(&mut self, expr: &Expr, depth: u32) {
        match expr {
            Expr::Const(_) | Expr::PacketLength => {}
            Expr::Load(place) => self.place(*place, depth),
            Expr::LoadElement { stack, index, place } => {
                self.ready(index, depth);
                let stack = &self.program.stacks[*stack as usize];
                for element in 0..stack.size {
                    let word = place.word + element * stack.stride;
                    self.place(Place { word, ..*place }, depth);
                }
            }
            Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
                self.ready(arg, depth);
            }
            Expr::Concat(left, right) => {
                self.ready(left, depth);
                self.ready(right, depth);
            }
            _ => self.made(expr, depth + 1),
        }
    }

    /// The stage of the operation decides on it.
    pub(crate) fn decided(&mut self, cond: &Expr, depth: u32) {
        match cond {
            Expr::Unary { op: UnaryOp::Not, arg, width: 1 } => self.decided(arg, depth),
            Expr::Mux { cond, then, otherwise } => {
                self.decided(cond, depth);
                self.decided(then, depth);
                self.decided(otherwise, depth);
            }
            Expr::Binary { op, left, right, .. } if decides(cond) => {
                if left.width() == 1 && right.width() == 1 {
                    self.decided(left, depth);
                    self.decided(right, depth);
                    return;
                }
                // Which of two fields is larger is seen by their difference.
                let constant = |side: &Expr| matches!(side, Expr::Const(_));
                let ordered = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
                let before = u32::from(ordered && !constant(left) && !constant(right));
                self.ready(left, depth + before);
                self.ready(right, depth + before);
            }
            _ => self.ready(cond, depth),
        }
    }
}

/// Comparisons, and what joins truth values.
fn decides(expr: &Expr) -> bool {
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

/// Additions and the like that a value takes one after the other, comparisons aside.
pub(crate) fn steps(expr: &Expr) -> u32 {
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => 0,
        Expr::LoadElement { index, .. } => steps(index),
        Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => steps(arg),
        Expr::Unary { arg, .. } => steps(arg) + u32::from(!decides(expr)),
        Expr::Binary { left, right, .. } => {
            steps(left).max(steps(right)) + u32::from(!decides(expr))
        }
        Expr::Concat(left, right) => steps(left).max(steps(right)),
        Expr::Mux { cond, then, otherwise } => steps(cond).max(steps(then)).max(steps(otherwise)),
    }
}

/// Nothing is computed: the value is fields and constants, cut and joined.
pub(crate) fn is_wire(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => true,
        Expr::Slice { arg, .. } | Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => is_wire(arg),
        Expr::Concat(left, right) => is_wire(left) && is_wire(right),
        _ => false,
    }
}
