//! Numbers for values: two places that hold the same value for certain have the same number.

use std::collections::HashMap;

use netkv_ir::{BinaryOp, BlockId, Expr, UnaryOp, Value, Word};

const AND: u8 = BinaryOp::And as u8;
const OR: u8 = BinaryOp::Or as u8;
const EQUAL: u8 = BinaryOp::Eq as u8;
const NOT_EQUAL: u8 = BinaryOp::Ne as u8;

/// Stands for a value of the pipeline.
pub(crate) type Number = u32;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// What a word holds when the graph begins.
    Initial(Word),
    /// Different ways bring different values to a block.
    Merged(BlockId, Word),
    /// Like nothing else.
    Fresh(u32),
    /// Words without zeros at the top: the width plays no part.
    Constant(Vec<u64>),
    /// A word of a wider value.
    Part(Number, u32),
    Words(Vec<Number>),
    Unary(UnaryKey, Number, u32),
    Binary(u8, Number, Number, u32),
    Mux(Number, Number, Number),
    Slice(Number, u32, u32),
    Concat(Number, Number, u32),
    PacketLength,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum UnaryKey {
    Not,
    Neg,
    SignExtend,
    Cut,
}

/// What a condition is made of.
pub(crate) enum Condition<'a> {
    Constant,
    Not(Number),
    Both(Number, Number),
    Either(Number, Number),
    /// A bit is 1, or is 0.
    Bit {
        of: Number,
        is: bool,
    },
    /// A value is a constant, or is not.
    Equal {
        of: Number,
        value: &'a [u64],
        is: bool,
    },
    Other,
}

/// The numbers given so far.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    known: HashMap<Key, Number>,
    keys: Vec<Key>,
    /// Of the number of a word: the value, and which word of it.
    part_of: HashMap<Number, (Number, u32)>,
    fresh: u32,
}

impl Numbers {
    fn of(&mut self, key: Key) -> Number {
        if let Some(number) = self.known.get(&key) {
            return *number;
        }
        let number = self.keys.len() as Number;
        self.keys.push(key.clone());
        self.known.insert(key, number);
        number
    }

    /// A value as a condition, taken apart once.
    pub(crate) fn condition(&self, number: Number) -> Condition<'_> {
        match &self.keys[number as usize] {
            Key::Constant(_) => Condition::Constant,
            Key::Unary(UnaryKey::Not, of, 1) => Condition::Not(*of),
            Key::Binary(AND, a, b, 1) => Condition::Both(*a, *b),
            Key::Binary(OR, a, b, 1) => Condition::Either(*a, *b),
            Key::Binary(op @ (EQUAL | NOT_EQUAL), a, b, width) => {
                let is = *op == EQUAL;
                let (of, value) = match (&self.keys[*a as usize], &self.keys[*b as usize]) {
                    (_, Key::Constant(value)) => (*a, value),
                    (Key::Constant(value), _) => (*b, value),
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

    pub(crate) fn initial(&mut self, word: Word) -> Number {
        self.of(Key::Initial(word))
    }

    pub(crate) fn merged(&mut self, block: BlockId, word: Word) -> Number {
        self.of(Key::Merged(block, word))
    }

    pub(crate) fn fresh(&mut self) -> Number {
        self.fresh += 1;
        self.of(Key::Fresh(self.fresh))
    }

    pub(crate) fn constant(&mut self, value: &Value) -> Number {
        self.of(Key::Constant(plain(value)))
    }

    pub(crate) fn zero(&mut self) -> Number {
        self.of(Key::Constant(Vec::new()))
    }

    /// The numbers of the words of a value.
    pub(crate) fn parts(&mut self, number: Number, words: u32) -> Vec<Number> {
        if words == 1 {
            return vec![number];
        }
        (0..words)
            .map(|at| {
                let part = self.of(Key::Part(number, at));
                self.part_of.insert(part, (number, at));
                part
            })
            .collect()
    }

    /// The number of a value from those of its words.
    fn whole(&mut self, words: Vec<Number>) -> Number {
        if let [one] = words[..] {
            return one;
        }
        // Words that were one value, all in their places, are that value again.
        let first = words.first().and_then(|word| self.part_of.get(word)).copied();
        if let Some((value, _)) = first
            && self.parts(value, words.len() as u32) == words
        {
            return value;
        }
        self.of(Key::Words(words))
    }

    /// The number of an expression; `word` tells those of the words that it reads.
    pub(crate) fn expr(
        &mut self,
        expr: &Expr,
        word: &mut dyn FnMut(&mut Self, Word) -> Number,
    ) -> Number {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Load(place) => {
                let words =
                    (place.word..place.word + place.words()).map(|at| word(self, at)).collect();
                self.whole(words)
            }
            // Its content may have changed in between.
            Expr::LoadElement { .. } => self.fresh(),
            Expr::Unary { op, arg, width } => {
                let number = self.expr(arg, word);
                match op {
                    UnaryOp::ZeroExtend if *width >= arg.width() => number,
                    UnaryOp::ZeroExtend => self.of(Key::Unary(UnaryKey::Cut, number, *width)),
                    UnaryOp::SignExtend if *width <= arg.width() => {
                        self.of(Key::Unary(UnaryKey::Cut, number, *width))
                    }
                    UnaryOp::SignExtend => {
                        // The sign is where the operand's width says.
                        let number = self.of(Key::Slice(number, arg.width() - 1, 0));
                        self.of(Key::Unary(UnaryKey::SignExtend, number, *width))
                    }
                    UnaryOp::Not => self.of(Key::Unary(UnaryKey::Not, number, *width)),
                    UnaryOp::Neg => self.of(Key::Unary(UnaryKey::Neg, number, *width)),
                }
            }
            Expr::Binary { op, left, right, width } => {
                let (mut a, mut b) = (self.expr(left, word), self.expr(right, word));
                if commutes(*op) && a > b {
                    (a, b) = (b, a);
                }
                // Comparisons are of width 1, whatever they compare: their operands' counts.
                let width = if *width == 1 { left.width() } else { *width };
                self.of(Key::Binary(*op as u8, a, b, width))
            }
            Expr::Mux { cond, then, otherwise } => {
                let cond = self.expr(cond, word);
                let (a, b) = (self.expr(then, word), self.expr(otherwise, word));
                if a == b { a } else { self.of(Key::Mux(cond, a, b)) }
            }
            Expr::Slice { arg, high, low } => {
                let number = self.expr(arg, word);
                match (*low, *high + 1 == arg.width()) {
                    (0, true) => number,
                    _ => self.of(Key::Slice(number, *high, *low)),
                }
            }
            Expr::Concat(left, right) => {
                let (a, b) = (self.expr(left, word), self.expr(right, word));
                self.of(Key::Concat(a, b, right.width()))
            }
            Expr::PacketLength => self.of(Key::PacketLength),
        }
    }
}

fn commutes(op: BinaryOp) -> bool {
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

/// The words of a constant without zeros at the top.
pub(crate) fn plain(value: &Value) -> Vec<u64> {
    let used = value.words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    value.words[..used].to_vec()
}
