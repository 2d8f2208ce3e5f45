//! The bytes of a key.
//!
//! A field's bytes are cut from bit 0 up, so none crosses a word; of a field whose width is no
//! multiple of 8 the first byte has the bits that are left, below zeros.

use crate::wide;

/// Where a byte of a key stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyByte {
    word: u32,
    shift: u32,
}

impl KeyByte {
    /// The byte of these key words.
    #[inline]
    pub(super) fn of(self, key: &[u64]) -> u8 {
        (key[self.word as usize] >> self.shift) as u8
    }

    /// The same byte where the key's words start at `word`.
    pub(super) fn within(self, word: usize) -> Self {
        Self { word: self.word - word as u32, ..self }
    }
}

/// The bytes of a field of `width` bits whose first word is `from`, most significant first.
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
