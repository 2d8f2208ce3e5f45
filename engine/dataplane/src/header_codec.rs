//! Reads headers from packets and writes them. The positions of fields are computed at load time.

use netkv_ir::{Header, Stack};

use crate::bits::{self, BitWriter};

/// Encoding of one field in a byte-aligned header.
#[derive(Debug, Clone, Copy)]
enum Codec {
    /// At most 8 whole bytes.
    Bytes { word: u32, offset: u32, count: u32 },
    /// More than 8 whole bytes.
    WideBytes { word: u32, words: u32, offset: u32, count: u32 },
    /// Any other field.
    Bits { word: u32, at: u32, width: u32 },
}

/// A field of a header with a varbit, or of a header at a bit offset.
#[derive(Debug, Clone, Copy)]
struct Field {
    word: u32,
    words: u32,
    width: u32,
    varbit_length: Option<u32>,
}

/// Encoding of a header instance.
#[derive(Debug, Clone)]
pub struct HeaderPlan {
    pub(crate) valid: u32,
    base: u32,
    words: u32,
    /// Size in the packet without the varbit, in bits.
    bits: u32,
    /// Maximum width of the varbit in bits, if there is one.
    pub varbit: Option<u32>,
    varbit_length: Option<u32>,
    codecs: Vec<Codec>,
    fields: Vec<Field>,
}

/// A header stack.
#[derive(Debug, Clone)]
pub(crate) struct StackPlan {
    pub(crate) first: u32,
    pub(crate) size: u32,
    pub(crate) next_index: u32,
}

impl StackPlan {
    pub(crate) fn new(stack: &Stack) -> Self {
        Self { first: stack.first, size: stack.size, next_index: stack.next_index }
    }
}

impl HeaderPlan {
    /// Computes the positions of the fields.
    pub fn new(header: &Header) -> Self {
        let mut plan = Self {
            valid: header.valid,
            base: header.base,
            words: header.words,
            bits: 0,
            varbit: None,
            varbit_length: None,
            codecs: Vec::new(),
            fields: Vec::new(),
        };
        for field in &header.fields {
            let (word, width, at) = (field.place.word, field.place.width, plan.bits);
            let words = field.place.words();
            plan.fields.push(Field { word, words, width, varbit_length: field.varbit_length });
            if field.varbit_length.is_some() {
                plan.varbit = Some(width);
                plan.varbit_length = field.varbit_length;
                continue;
            }
            plan.codecs.push(match (at % 8, width % 8) {
                (0, 0) if width <= 64 => Codec::Bytes { word, offset: at / 8, count: width / 8 },
                (0, 0) => Codec::WideBytes { word, words, offset: at / 8, count: width / 8 },
                _ => Codec::Bits { word, at, width },
            });
            plan.bits += width;
        }
        plan
    }

    pub(crate) fn is_valid(&self, state: &[u64]) -> bool {
        state[self.valid as usize] == 1
    }

    /// Current size of the header in the packet, in bits.
    pub fn wire_bits(&self, state: &[u64]) -> usize {
        let varbit = self.varbit_length.map_or(0, |word| state[word as usize]);
        self.bits as usize + varbit as usize
    }

    /// Size of the header without its varbit, in bits.
    pub fn fixed_bits(&self) -> usize {
        self.bits as usize
    }

    /// `setValid()`. Returns true if the header was invalid.
    pub(crate) fn set_valid(&self, state: &mut [u64]) -> bool {
        if self.is_valid(state) {
            return false;
        }
        self.clear(state);
        state[self.valid as usize] = 1;
        true
    }

    /// `setInvalid()`.
    pub(crate) fn set_invalid(&self, state: &mut [u64]) {
        self.clear(state);
        state[self.valid as usize] = 0;
    }

    fn clear(&self, state: &mut [u64]) {
        let base = self.base as usize;
        state[base..base + self.words as usize].fill(0);
    }

    /// Copies the header `from` of the same type, with its validity.
    pub(crate) fn copy_from(&self, from: &HeaderPlan, state: &mut [u64]) {
        let (source, words) = (from.base as usize, self.words.min(from.words) as usize);
        state.copy_within(source..source + words, self.base as usize);
        state[self.valid as usize] = state[from.valid as usize];
    }

    /// Reads the header from bit `at` of `data`. The caller checks that `data` has all bits, and
    /// that the width `varbit` does not exceed the maximum.
    pub fn read(&self, data: &[u8], at: usize, varbit: u32, state: &mut [u64]) {
        if self.varbit.is_none() && at.is_multiple_of(8) {
            self.read_aligned(&data[at / 8..], state);
        } else {
            let mut at = at;
            for field in &self.fields {
                let width = match field.varbit_length {
                    Some(word) => {
                        state[word as usize] = u64::from(varbit);
                        varbit
                    }
                    None => field.width,
                };
                let place = field.word as usize..(field.word + field.words) as usize;
                bits::read_words(data, at, width, &mut state[place]);
                at += width as usize;
            }
        }
        state[self.valid as usize] = 1;
    }

    fn read_aligned(&self, data: &[u8], state: &mut [u64]) {
        for codec in &self.codecs {
            match *codec {
                Codec::Bytes { word, offset, count } => {
                    let bytes = &data[offset as usize..(offset + count) as usize];
                    state[word as usize] = bits::load_be(bytes);
                }
                Codec::WideBytes { word, words, offset, count } => {
                    let bytes = &data[offset as usize..(offset + count) as usize];
                    let place = word as usize..(word + words) as usize;
                    bits::load_words(bytes, &mut state[place]);
                }
                Codec::Bits { word, at, width } => {
                    let place = word as usize..word as usize + width.div_ceil(64) as usize;
                    bits::read_words(data, at as usize, width, &mut state[place]);
                }
            }
        }
    }

    /// Appends the header if it is valid.
    pub fn emit(&self, state: &[u64], out: &mut BitWriter) {
        if !self.is_valid(state) {
            return;
        }
        if self.varbit.is_none() && out.is_aligned() && self.bits.is_multiple_of(8) {
            self.write_aligned(state, out.grow(self.bits as usize / 8));
            return;
        }
        for field in &self.fields {
            let width = match field.varbit_length {
                Some(word) => (state[word as usize] as u32).min(field.width),
                None => field.width,
            };
            out.push_words(&state[field.word as usize..], width);
        }
    }

    fn write_aligned(&self, state: &[u64], out: &mut [u8]) {
        for codec in &self.codecs {
            match *codec {
                Codec::Bytes { word, offset, count } => {
                    let bytes = &mut out[offset as usize..(offset + count) as usize];
                    bits::store_be(bytes, state[word as usize]);
                }
                Codec::WideBytes { word, words, offset, count } => {
                    let bytes = &mut out[offset as usize..(offset + count) as usize];
                    let place = word as usize..(word + words) as usize;
                    bits::store_words(bytes, &state[place]);
                }
                Codec::Bits { word, at, width } => {
                    let words = &state[word as usize..];
                    bits::write_words(out, at as usize, width, words);
                }
            }
        }
    }
}
