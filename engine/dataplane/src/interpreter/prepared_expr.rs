//! Prepared expressions and their evaluation.
//!
//! A [`NarrowExpr`] has up to 64 bits and evaluates to a `u64`. A [`WideExpr`] has any width and
//! pushes its words onto the scratch stack. Packets reuse the memory of the scratch stack.

use std::cmp::Ordering;

use netkv_ir::BinaryOp;

use crate::arithmetic::{binary, binary_wide, shift_wide, signed};
use crate::bits::mask;
use crate::packet::State;
use crate::wide;

/// Number and distance (in words) of the elements of a stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements {
    pub(crate) size: u64,
    pub(crate) stride: u32,
}

/// An expression of at most 64 bits.
#[derive(Debug, Clone)]
pub(crate) enum NarrowExpr {
    Const(u64),
    Load(u32),
    Element {
        elements: Elements,
        index: Box<NarrowExpr>,
        word: u32,
    },
    Not(Box<NarrowExpr>, u64),
    Neg(Box<NarrowExpr>, u64),
    Truncate(Box<NarrowExpr>, u64),
    SignExtend {
        arg: Box<NarrowExpr>,
        from: u32,
        mask: u64,
    },
    Binary {
        op: BinaryOp,
        args: Box<(NarrowExpr, NarrowExpr)>,
        width: u32,
    },
    Equals(u32, u64),
    Mux(Box<(NarrowExpr, NarrowExpr, NarrowExpr)>),
    Slice {
        arg: Box<NarrowExpr>,
        low: u32,
        mask: u64,
    },
    Concat {
        args: Box<(NarrowExpr, NarrowExpr)>,
        shift: u32,
    },
    PacketLength,
    /// The bits of a wide value from `low` on, under `mask`.
    SliceWide {
        arg: Box<WideExpr>,
        low: u32,
        mask: u64,
    },
    /// A wide index or shift amount; `u64::MAX` if it does not fit in 64 bits.
    Saturate(Box<WideExpr>),
    /// A comparison of wide values.
    Compare {
        op: BinaryOp,
        args: Box<(WideExpr, WideExpr)>,
        width: u32,
    },
}

/// An expression of any width.
#[derive(Debug, Clone)]
pub(crate) enum WideExpr {
    /// A narrow expression, extended to a number of words.
    Narrow(NarrowExpr, usize),
    Const(Box<[u64]>),
    Load {
        word: u32,
        words: u32,
    },
    Element {
        elements: Elements,
        index: NarrowExpr,
        word: u32,
        words: u32,
    },
    Not(Box<WideExpr>, u32),
    Neg(Box<WideExpr>, u32),
    /// Truncation, or extension with zeros.
    Resize(Box<WideExpr>, u32),
    SignExtend {
        arg: Box<WideExpr>,
        from: u32,
        width: u32,
    },
    Binary {
        op: BinaryOp,
        args: Box<(WideExpr, WideExpr)>,
        width: u32,
    },
    Shift {
        op: BinaryOp,
        arg: Box<WideExpr>,
        amount: Box<NarrowExpr>,
        width: u32,
    },
    Mux(Box<(NarrowExpr, WideExpr, WideExpr)>),
    Slice {
        arg: Box<WideExpr>,
        low: u32,
        width: u32,
    },
    Concat {
        args: Box<(WideExpr, WideExpr)>,
        right: u32,
        width: u32,
    },
}

impl NarrowExpr {
    /// Evaluates the expression. Unused high bits of the result are 0.
    pub(crate) fn eval(&self, state: &mut State) -> u64 {
        match self {
            NarrowExpr::Const(value) => *value,
            NarrowExpr::Load(word) => state.words[*word as usize],
            NarrowExpr::Equals(word, value) => u64::from(state.words[*word as usize] == *value),
            NarrowExpr::Element { elements, index, word } => {
                let index = index.eval(state);
                if index >= elements.size {
                    return 0;
                }
                state.words[*word as usize + index as usize * elements.stride as usize]
            }
            NarrowExpr::Not(arg, mask) => !arg.eval(state) & mask,
            NarrowExpr::Neg(arg, mask) => arg.eval(state).wrapping_neg() & mask,
            NarrowExpr::Truncate(arg, mask) => arg.eval(state) & mask,
            NarrowExpr::SignExtend { arg, from, mask } => {
                signed(arg.eval(state), *from) as u64 & mask
            }
            NarrowExpr::Binary { op, args, width } => {
                let (left, right) = (args.0.eval(state), args.1.eval(state));
                binary(*op, left, right, *width)
            }
            NarrowExpr::Mux(args) => {
                if args.0.eval(state) == 1 {
                    args.1.eval(state)
                } else {
                    args.2.eval(state)
                }
            }
            NarrowExpr::Slice { arg, low, mask } => (arg.eval(state) >> low) & mask,
            NarrowExpr::Concat { args, shift } => {
                let left = args.0.eval(state);
                (left << shift) | args.1.eval(state)
            }
            NarrowExpr::PacketLength => state.packet_length & mask(32),
            NarrowExpr::SliceWide { arg, low, mask } => {
                let at = arg.push(state);
                let (word, bits) = (at + (*low / 64) as usize, *low % 64);
                let mut value = state.scratch[word] >> bits;
                if bits > 0
                    && let Some(next) = state.scratch.get(word + 1)
                {
                    value |= next << (64 - bits);
                }
                state.scratch.truncate(at);
                value & mask
            }
            NarrowExpr::Saturate(arg) => {
                let at = arg.push(state);
                let fits = state.scratch[at + 1..].iter().all(|word| *word == 0);
                let value = if fits { state.scratch[at] } else { u64::MAX };
                state.scratch.truncate(at);
                value
            }
            NarrowExpr::Compare { op, args, width } => {
                let at = args.0.push(state);
                let middle = args.1.push(state);
                let (left, right) = state.scratch[at..].split_at(middle - at);
                let holds = match op {
                    BinaryOp::Eq => left == right,
                    BinaryOp::Ne => left != right,
                    BinaryOp::LtUnsigned => wide::compare(left, right) == Ordering::Less,
                    BinaryOp::LeUnsigned => wide::compare(left, right) != Ordering::Greater,
                    BinaryOp::LtSigned => {
                        wide::compare_signed(left, right, *width) == Ordering::Less
                    }
                    _ => wide::compare_signed(left, right, *width) != Ordering::Greater,
                };
                state.scratch.truncate(at);
                u64::from(holds)
            }
        }
    }
}

impl WideExpr {
    /// Evaluates the expression and pushes its words onto the scratch stack. Returns the index of
    /// the first word.
    pub(crate) fn push(&self, state: &mut State) -> usize {
        let at = state.scratch.len();
        match self {
            WideExpr::Narrow(arg, words) => {
                let value = arg.eval(state);
                state.scratch.push(value);
                state.scratch.resize(at + words, 0);
            }
            WideExpr::Const(value) => state.scratch.extend_from_slice(value),
            WideExpr::Load { word, words } => {
                let from = *word as usize;
                state.scratch.extend_from_slice(&state.words[from..from + *words as usize]);
            }
            WideExpr::Element { elements, index, word, words } => {
                let index = index.eval(state);
                if index < elements.size {
                    let from = *word as usize + index as usize * elements.stride as usize;
                    state.scratch.extend_from_slice(&state.words[from..from + *words as usize]);
                } else {
                    state.scratch.resize(at + *words as usize, 0);
                }
            }
            WideExpr::Not(arg, width) => {
                arg.push(state);
                let value = &mut state.scratch[at..];
                value.iter_mut().for_each(|word| *word = !*word);
                wide::cut(value, *width);
            }
            WideExpr::Neg(arg, width) => {
                arg.push(state);
                let value = &mut state.scratch[at..];
                wide::neg(value);
                wide::cut(value, *width);
            }
            WideExpr::Resize(arg, width) => {
                arg.push(state);
                state.scratch.resize(at + wide::words(*width), 0);
                wide::cut(&mut state.scratch[at..], *width);
            }
            WideExpr::SignExtend { arg, from, width } => {
                arg.push(state);
                state.scratch.resize(at + wide::words(*width), 0);
                let value = &mut state.scratch[at..];
                if from < width && wide::bit(value, from - 1) {
                    wide::set_bits(value, *from, *width);
                }
                wide::cut(value, *width);
            }
            WideExpr::Binary { op, args, width } => {
                args.0.push(state);
                args.1.push(state);
                binary_wide(*op, &mut state.scratch, at, *width);
            }
            WideExpr::Shift { op, arg, amount, width } => {
                arg.push(state);
                let amount = amount.eval(state);
                shift_wide(*op, &mut state.scratch[at..], amount, *width);
            }
            WideExpr::Mux(args) => {
                if args.0.eval(state) == 1 {
                    args.1.push(state);
                } else {
                    args.2.push(state);
                }
            }
            WideExpr::Slice { arg, low, width } => {
                arg.push(state);
                wide::shr(&mut state.scratch[at..], *low);
                state.scratch.truncate(at + wide::words(*width));
                wide::cut(&mut state.scratch[at..], *width);
            }
            WideExpr::Concat { args, right, width } => {
                let words = wide::words(*width);
                args.0.push(state);
                state.scratch.resize(at + words, 0);
                wide::shl(&mut state.scratch[at..], *right);
                let low = args.1.push(state);
                let (value, low) = state.scratch[at..].split_at_mut(low - at);
                for (word, low) in value.iter_mut().zip(low) {
                    *word |= *low;
                }
                state.scratch.truncate(at + words);
            }
        }
        at
    }
}
