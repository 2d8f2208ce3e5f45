//! A packet under construction, and the state of the program on its path.

use std::collections::{HashMap, HashSet};

use netkv_ir::{Program, Value, Word};

use crate::bits::BitString;
use crate::rng::Rng;
use crate::value_pool::ValuePool;

/// A field of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Position of its first bit.
    pub offset: usize,
    /// Number of bits.
    pub width: u32,
    /// Its word in the state area.
    pub word: Word,
}

/// The origin of a word's value: a field of the packet, plus a constant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) offset: usize,
    pub(crate) width: u32,
    pub(crate) added: u64,
}

impl Origin {
    pub(crate) fn new(offset: usize, width: u32) -> Self {
        Self { offset, width, added: 0 }
    }
}

/// A packet under construction, and the state of the program on its path.
pub(crate) struct PathBuilder<'a> {
    /// Whether the packet is generated; a recorded packet does not change.
    pub(crate) generates: bool,
    pub(crate) program: &'a Program,
    pub(crate) pool: &'a mut ValuePool,
    pub(crate) rng: &'a mut Rng,
    pub(crate) words: Vec<u64>,
    pub(crate) bits: BitString,
    pub(crate) fields: Vec<Field>,
    pub(crate) origins: HashMap<Word, Origin>,
    /// Bits of the packet on which a decision depends.
    pub(crate) fixed_bits: HashSet<usize>,
    pub(crate) cursor: usize,
}

impl PathBuilder<'_> {
    pub(crate) fn store(&mut self, word: Word, value: &Value) {
        let place = word as usize..word as usize + value.words.len();
        if let Some(words) = self.words.get_mut(place) {
            words.copy_from_slice(&value.words);
        }
    }
}
