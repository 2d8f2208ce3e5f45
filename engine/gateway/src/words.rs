//! The words of a request.

use std::ops::Index;

/// The words of a request: the name of the command and its arguments. There is at least one.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// The memory that the words are in.
    pub bytes: &'a [u8],
    /// Where they are.
    pub ranges: &'a [Range],
    /// Whether they are a line, and not an array.
    pub inline: bool,
}

/// Begin and length of a word.
pub type Range = (u32, u32);

impl<'a> Words<'a> {
    /// Their number.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// All words.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.ranges.iter().map(move |&range| word(bytes, range))
    }

    /// The words from a position on; none if there are fewer.
    pub fn from(&self, first: usize) -> Self {
        Self { ranges: self.ranges.get(first..).unwrap_or_default(), ..*self }
    }

    /// Bytes of all words.
    pub fn size(&self) -> usize {
        self.ranges.iter().map(|&(_, length)| length as usize).sum()
    }
}

impl Index<usize> for Words<'_> {
    type Output = [u8];

    fn index(&self, index: usize) -> &[u8] {
        word(self.bytes, self.ranges[index])
    }
}

fn word(bytes: &[u8], (begin, length): Range) -> &[u8] {
    &bytes[begin as usize..][..length as usize]
}

/// The number of a text as Redis writes it: without leading zeros, spaces or a plus sign.
pub fn integer(digits: &[u8]) -> Option<i64> {
    let magnitude = digits.strip_prefix(b"-").unwrap_or(digits);
    let plain = match magnitude {
        b"0" => magnitude.len() == digits.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    plain.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}
