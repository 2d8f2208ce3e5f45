//! Global value numbering: expressions with the same number have equal values for every packet.
//!
//! The reverse does not hold: equal values may have different numbers.

use std::collections::HashMap;

use netkv_ir::{BinaryOp, BlockId, Expr, UnaryOp, Value, Word};

const AND: u8 = BinaryOp::And as u8;
const OR: u8 = BinaryOp::Or as u8;
const EQUAL: u8 = BinaryOp::Eq as u8;
const NOT_EQUAL: u8 = BinaryOp::Ne as u8;

/// Identifies a value of the pipeline.
pub(crate) type ValueNumber = u32;

/// The expression that defines a value number. Its operands are value numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ValueKey {
    /// The value of a word at the entry of the graph.
    Initial(Word),
    /// A word of which different values reach a block (a φ of SSA form).
    Phi(BlockId, Word),
    /// A value about which nothing is known; it equals no other.
    Unknown(u32),
    /// The significant words of a constant; its width does not matter.
    Constant(Vec<u64>),
    /// One word of a wider value.
    Part(ValueNumber, u32),
    Words(Vec<ValueNumber>),
    Unary(UnaryKey, ValueNumber, u32),
    Binary(u8, ValueNumber, ValueNumber, u32),
    Mux(ValueNumber, ValueNumber, ValueNumber),
    Slice(ValueNumber, u32, u32),
    Concat(ValueNumber, ValueNumber, u32),
    PacketLength,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum UnaryKey {
    Not,
    Neg,
    SignExtend,
    Truncate,
}

/// A condition, decomposed by one level.
pub(crate) enum Condition<'a> {
    Constant,
    Not(ValueNumber),
    And(ValueNumber, ValueNumber),
    Or(ValueNumber, ValueNumber),
    /// A bit is 1 (`is`), or it is 0.
    Bit {
        of: ValueNumber,
        is: bool,
    },
    /// A value equals a constant (`is`), or it does not.
    Equal {
        of: ValueNumber,
        value: &'a [u64],
        is: bool,
    },
    Other,
}

/// The value numbers assigned so far.
#[derive(Debug, Default)]
pub(crate) struct ValueNumbering {
    known: HashMap<ValueKey, ValueNumber>,
    keys: Vec<ValueKey>,
    /// For the number of a word of a wider value: that value, and the position of the word.
    part_of: HashMap<ValueNumber, (ValueNumber, u32)>,
    fresh: u32,
}

impl ValueNumbering {
    fn intern(&mut self, key: ValueKey) -> ValueNumber {
        if let Some(number) = self.known.get(&key) {
            return *number;
        }
        let number = self.keys.len() as ValueNumber;
        self.keys.push(key.clone());
        self.known.insert(key, number);
        number
    }

    /// Decomposes a condition by one level.
    pub(crate) fn condition(&self, number: ValueNumber) -> Condition<'_> {
        match &self.keys[number as usize] {
            ValueKey::Constant(_) => Condition::Constant,
            ValueKey::Unary(UnaryKey::Not, of, 1) => Condition::Not(*of),
            ValueKey::Binary(AND, a, b, 1) => Condition::And(*a, *b),
            ValueKey::Binary(OR, a, b, 1) => Condition::Or(*a, *b),
            ValueKey::Binary(op @ (EQUAL | NOT_EQUAL), a, b, width) => {
                let is = *op == EQUAL;
                let (of, value) = match (&self.keys[*a as usize], &self.keys[*b as usize]) {
                    (_, ValueKey::Constant(value)) => (*a, value),
                    (ValueKey::Constant(value), _) => (*b, value),
                    _ => return Condition::Other,
                };
                match width {
                    1 => Condition::Bit { of, is: is != value.is_empty() },
                    _ => Condition::Equal { of, value, is },
                }
            }
            _ => Condition::Other,
        }
    }

    pub(crate) fn initial(&mut self, word: Word) -> ValueNumber {
        self.intern(ValueKey::Initial(word))
    }

    pub(crate) fn phi(&mut self, block: BlockId, word: Word) -> ValueNumber {
        self.intern(ValueKey::Phi(block, word))
    }

    pub(crate) fn fresh(&mut self) -> ValueNumber {
        self.fresh += 1;
        self.intern(ValueKey::Unknown(self.fresh))
    }

    pub(crate) fn constant(&mut self, value: &Value) -> ValueNumber {
        self.intern(ValueKey::Constant(significant_words(value)))
    }

    pub(crate) fn zero(&mut self) -> ValueNumber {
        self.intern(ValueKey::Constant(Vec::new()))
    }

    /// The value numbers of the words of a value.
    pub(crate) fn parts(&mut self, number: ValueNumber, words: u32) -> Vec<ValueNumber> {
        if words == 1 {
            return vec![number];
        }
        (0..words)
            .map(|at| {
                let part = self.intern(ValueKey::Part(number, at));
                self.part_of.insert(part, (number, at));
                part
            })
            .collect()
    }

    /// The number of the value that consists of these words.
    fn combine(&mut self, words: Vec<ValueNumber>) -> ValueNumber {
        if let [one] = words[..] {
            return one;
        }
        // All words of one value, in their order, are that value.
        let first = words.first().and_then(|word| self.part_of.get(word)).copied();
        if let Some((value, _)) = first
            && self.parts(value, words.len() as u32) == words
        {
            return value;
        }
        self.intern(ValueKey::Words(words))
    }

    /// The number of an expression. `word` returns the number of a word that the expression reads.
    pub(crate) fn expr(
        &mut self,
        expr: &Expr,
        word: &mut dyn FnMut(&mut Self, Word) -> ValueNumber,
    ) -> ValueNumber {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Load(place) => {
                let words =
                    (place.word..place.word + place.words()).map(|at| word(self, at)).collect();
                self.combine(words)
            }
            // Its content may have changed in between.
            Expr::LoadElement { .. } => self.fresh(),
            Expr::Unary { op, arg, width } => {
                let number = self.expr(arg, word);
                match op {
                    UnaryOp::ZeroExtend if *width >= arg.width() => number,
                    UnaryOp::ZeroExtend => {
                        self.intern(ValueKey::Unary(UnaryKey::Truncate, number, *width))
                    }
                    UnaryOp::SignExtend if *width <= arg.width() => {
                        self.intern(ValueKey::Unary(UnaryKey::Truncate, number, *width))
                    }
                    UnaryOp::SignExtend => {
                        // The position of the sign bit depends on the width of the operand.
                        let number = self.intern(ValueKey::Slice(number, arg.width() - 1, 0));
                        self.intern(ValueKey::Unary(UnaryKey::SignExtend, number, *width))
                    }
                    UnaryOp::Not => self.intern(ValueKey::Unary(UnaryKey::Not, number, *width)),
                    UnaryOp::Neg => self.intern(ValueKey::Unary(UnaryKey::Neg, number, *width)),
                }
            }
            Expr::Binary { op, left, right, width } => {
                let (mut a, mut b) = (self.expr(left, word), self.expr(right, word));
                if is_commutative(*op) && a > b {
                    (a, b) = (b, a);
                }
                // Every comparison has width 1; the width of its operands distinguishes them.
                let width = if *width == 1 { left.width() } else { *width };
                self.intern(ValueKey::Binary(*op as u8, a, b, width))
            }
            Expr::Mux { cond, then, otherwise } => {
                let cond = self.expr(cond, word);
                let (a, b) = (self.expr(then, word), self.expr(otherwise, word));
                if a == b { a } else { self.intern(ValueKey::Mux(cond, a, b)) }
            }
            Expr::Slice { arg, high, low } => {
                let number = self.expr(arg, word);
                match (*low, *high + 1 == arg.width()) {
                    (0, true) => number,
                    _ => self.intern(ValueKey::Slice(number, *high, *low)),
                }
            }
            Expr::Concat(left, right) => {
                let (a, b) = (self.expr(left, word), self.expr(right, word));
                self.intern(ValueKey::Concat(a, b, right.width()))
            }
            Expr::PacketLength => self.intern(ValueKey::PacketLength),
        }
    }
}

fn is_commutative(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Add
            | BinaryOp::Mul
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Eq
            | BinaryOp::Ne
    )
}

/// The words of a constant without its leading zeros.
pub(crate) fn significant_words(value: &Value) -> Vec<u64> {
    let used = value.words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    value.words[..used].to_vec()
}
