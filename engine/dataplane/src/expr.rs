//! Prepared expressions and their evaluation.
//!
//! An expression of up to 64 bits is a [`Small`] and evaluates to a `u64` without touching memory
//! other than the state. A wider one is a [`Wide`]: it pushes its words onto the scratch stack,
//! which keeps its storage from packet to packet.

use std::cmp::Ordering;

use netkv_ir::BinaryOp;

use crate::arithmetic::{binary, binary_wide, shift_wide, signed};
use crate::bits::mask;
use crate::wide;

/// The state area of a packet, and the scratch stack for wide intermediate values.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The words that the IR speaks of.
    pub words: Vec<u64>,
    /// Wide intermediate values; empty between operations.
    pub(crate) scratch: Vec<u64>,
    /// What `packet.length()` gives, in bytes.
    pub(crate) packet_length: u64,
}

/// Where the elements of a stack lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements {
    pub(crate) size: u64,
    pub(crate) stride: u32,
}

/// An expression of at most 64 bits.
#[derive(Debug, Clone)]
pub(crate) enum Small {
    Const(u64),
    Load(u32),
    Element {
        elements: Elements,
        index: Box<Small>,
        word: u32,
    },
    Not(Box<Small>, u64),
    Neg(Box<Small>, u64),
    Cut(Box<Small>, u64),
    SignExtend {
        arg: Box<Small>,
        from: u32,
        mask: u64,
    },
    Binary {
        op: BinaryOp,
        args: Box<(Small, Small)>,
        width: u32,
    },
    Equals(u32, u64),
    Mux(Box<(Small, Small, Small)>),
    Slice {
        arg: Box<Small>,
        low: u32,
        mask: u64,
    },
    Concat {
        args: Box<(Small, Small)>,
        shift: u32,
    },
    PacketLength,
    /// `width` bits of a wide value from `low` on.
    SliceWide {
        arg: Box<Wide>,
        low: u32,
        mask: u64,
    },
    /// An index or shift amount in a wide value: `u64::MAX` when it does not fit.
    Saturate(Box<Wide>),
    /// A comparison of wide values.
    Compare {
        op: BinaryOp,
        args: Box<(Wide, Wide)>,
        width: u32,
    },
}

/// An expression of any width.
#[derive(Debug, Clone)]
pub(crate) enum Wide {
    /// A small one, in `words` words.
    Small(Small, usize),
    Const(Box<[u64]>),
    Load {
        word: u32,
        words: u32,
    },
    Element {
        elements: Elements,
        index: Small,
        word: u32,
        words: u32,
    },
    Not(Box<Wide>, u32),
    Neg(Box<Wide>, u32),
    /// Cut or extend with zeros.
    Resize(Box<Wide>, u32),
    SignExtend {
        arg: Box<Wide>,
        from: u32,
        width: u32,
    },
    Binary {
        op: BinaryOp,
        args: Box<(Wide, Wide)>,
        width: u32,
    },
    Shift {
        op: BinaryOp,
        arg: Box<Wide>,
        amount: Box<Small>,
        width: u32,
    },
    Mux(Box<(Small, Wide, Wide)>),
    Slice {
        arg: Box<Wide>,
        low: u32,
        width: u32,
    },
    Concat {
        args: Box<(Wide, Wide)>,
        right: u32,
        width: u32,
    },
}

impl Small {
    /// The value, high bits 0.
    pub(crate) fn eval(&self, state: &mut State) -> u64 {
        match self {
            Small::Const(value) => *value,
            Small::Load(word) => state.words[*word as usize],
            Small::Equals(word, value) => u64::from(state.words[*word as usize] == *value),
            Small::Element { elements, index, word } => {
                let index = index.eval(state);
                if index >= elements.size {
                    return 0;
                }
                state.words[*word as usize + index as usize * elements.stride as usize]
            }
            Small::Not(arg, mask) => !arg.eval(state) & mask,
            Small::Neg(arg, mask) => arg.eval(state).wrapping_neg() & mask,
            Small::Cut(arg, mask) => arg.eval(state) & mask,
            Small::SignExtend { arg, from, mask } => signed(arg.eval(state), *from) as u64 & mask,
            Small::Binary { op, args, width } => {
                let (left, right) = (args.0.eval(state), args.1.eval(state));
                binary(*op, left, right, *width)
            }
            Small::Mux(args) => {
                if args.0.eval(state) == 1 {
                    args.1.eval(state)
                } else {
                    args.2.eval(state)
                }
            }
            Small::Slice { arg, low, mask } => (arg.eval(state) >> low) & mask,
            Small::Concat { args, shift } => {
                let left = args.0.eval(state);
                (left << shift) | args.1.eval(state)
            }
            Small::PacketLength => state.packet_length & mask(32),
            Small::SliceWide { arg, low, mask } => {
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
            Small::Saturate(arg) => {
                let at = arg.push(state);
                let fits = state.scratch[at + 1..].iter().all(|word| *word == 0);
                let value = if fits { state.scratch[at] } else { u64::MAX };
                state.scratch.truncate(at);
                value
            }
            Small::Compare { op, args, width } => {
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

impl Wide {
    /// Pushes the words onto the scratch stack; returns where they start.
    pub(crate) fn push(&self, state: &mut State) -> usize {
        let at = state.scratch.len();
        match self {
            Wide::Small(arg, words) => {
                let value = arg.eval(state);
                state.scratch.push(value);
                state.scratch.resize(at + words, 0);
            }
            Wide::Const(value) => state.scratch.extend_from_slice(value),
            Wide::Load { word, words } => {
                let from = *word as usize;
                state.scratch.extend_from_slice(&state.words[from..from + *words as usize]);
            }
            Wide::Element { elements, index, word, words } => {
                let index = index.eval(state);
                if index < elements.size {
                    let from = *word as usize + index as usize * elements.stride as usize;
                    state.scratch.extend_from_slice(&state.words[from..from + *words as usize]);
                } else {
                    state.scratch.resize(at + *words as usize, 0);
                }
            }
            Wide::Not(arg, width) => {
                arg.push(state);
                let value = &mut state.scratch[at..];
                value.iter_mut().for_each(|word| *word = !*word);
                wide::cut(value, *width);
            }
            Wide::Neg(arg, width) => {
                arg.push(state);
                let value = &mut state.scratch[at..];
                wide::neg(value);
                wide::cut(value, *width);
            }
            Wide::Resize(arg, width) => {
                arg.push(state);
                state.scratch.resize(at + wide::words(*width), 0);
                wide::cut(&mut state.scratch[at..], *width);
            }
            Wide::SignExtend { arg, from, width } => {
                arg.push(state);
                state.scratch.resize(at + wide::words(*width), 0);
                let value = &mut state.scratch[at..];
                if from < width && wide::bit(value, from - 1) {
                    wide::set_bits(value, *from, *width);
                }
                wide::cut(value, *width);
            }
            Wide::Binary { op, args, width } => {
                args.0.push(state);
                args.1.push(state);
                binary_wide(*op, &mut state.scratch, at, *width);
            }
            Wide::Shift { op, arg, amount, width } => {
                arg.push(state);
                let amount = amount.eval(state);
                shift_wide(*op, &mut state.scratch[at..], amount, *width);
            }
            Wide::Mux(args) => {
                if args.0.eval(state) == 1 {
                    args.1.push(state);
                } else {
                    args.2.push(state);
                }
            }
            Wide::Slice { arg, low, width } => {
                arg.push(state);
                wide::shr(&mut state.scratch[at..], *low);
                state.scratch.truncate(at + wide::words(*width));
                wide::cut(&mut state.scratch[at..], *width);
            }
            Wide::Concat { args, right, width } => {
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
