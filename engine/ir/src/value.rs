//! Constants of any width, and their conversion from and to integers, words and bytes.

use serde::{Deserialize, Serialize};

/// A constant: `ceil(width / 64)` 64-bit words, least significant first, unused high bits 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Value {
    /// Width in bits.
    pub width: u32,
    /// Words, least significant first.
    pub words: Vec<u64>,
}

impl Value {
    /// A constant from up to 128 bits, truncated to `width`.
    pub fn new(width: u32, value: u128) -> Self {
        let mut words = vec![0u64; width.div_ceil(64) as usize];
        for (i, word) in words.iter_mut().enumerate().take(2) {
            *word = (value >> (64 * i)) as u64;
        }
        Self::from_words(width, words)
    }

    /// A constant from words, truncated to `width`.
    pub fn from_words(width: u32, mut words: Vec<u64>) -> Self {
        words.resize(width.div_ceil(64) as usize, 0);
        if !width.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last &= (1u64 << (width % 64)) - 1;
        }
        Self { width, words }
    }

    /// A constant from any number of big-endian bytes, truncated to `width`.
    pub fn from_bytes(width: u32, bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        for (i, byte) in bytes.iter().rev().enumerate() {
            words[i / 8] |= u64::from(*byte) << (8 * (i % 8));
        }
        Self::from_words(width, words)
    }

    /// Big-endian bytes, `ceil(width / 8)` of them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.width.div_ceil(8) as usize;
        (0..count).rev().map(|i| (self.words[i / 8] >> (8 * (i % 8))) as u8).collect()
    }
}
