//! The bytes of a key.
//!
//! The bytes of a field start at bit 0, so that no byte crosses a word. If the width is not a
//! multiple of 8, the most significant byte has fewer bits, and zeros above them.

use crate::wide;

/// Position of a byte in a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyByte {
    word: u32,
    shift: u32,
}

impl KeyByte {
    /// The byte at this position in the words of a key.
    #[inline]
    pub(super) fn of(self, key: &[u64]) -> u8 {
        (key[self.word as usize] >> self.shift) as u8
    }

    /// The position of the same byte in the words from `word` on.
    pub(super) fn within(self, word: usize) -> Self {
        Self { word: self.word - word as u32, ..self }
    }
}

/// Positions of the bytes of a field, most significant first. The field has `width` bits and starts
/// at word `from`.
pub(super) fn field(from: usize, width: u32) -> impl Iterator<Item = KeyByte> {
    (0..width.div_ceil(8))
        .rev()
        .map(move |byte| KeyByte { word: from as u32 + byte / 8, shift: byte % 8 * 8 })
}

/// The first word of each field.
pub(super) fn first_words(widths: &[u32]) -> impl Iterator<Item = usize> {
    widths.iter().scan(0, |next, width| {
        let from = *next;
        *next += wide::words(*width);
        Some(from)
    })
}
