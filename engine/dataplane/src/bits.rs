//! Reads and writes bit strings in bytes, most significant bit first, as in packet headers.

/// A mask of the low `width` bits; all 64 if `width` is at least 64.
pub const fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1u64 << width) - 1 }
}

/// Reads up to 8 bytes as a big-endian number.
#[inline]
pub(crate) fn load_be(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)),
    }
}

/// Writes the low bytes of a number, big-endian, to a slice of at most 8 bytes.
#[inline]
pub(crate) fn store_be(bytes: &mut [u8], value: u64) {
    let all = value.to_be_bytes();
    match bytes.len() {
        1 => bytes.copy_from_slice(&all[7..]),
        2 => bytes.copy_from_slice(&all[6..]),
        4 => bytes.copy_from_slice(&all[4..]),
        8 => bytes.copy_from_slice(&all),
        n => bytes.copy_from_slice(&all[8 - n..]),
    }
}

/// Reads big-endian bytes into little-endian words. `words` must have space for all bytes.
#[inline]
pub(crate) fn load_words(bytes: &[u8], words: &mut [u64]) {
    for (word, chunk) in words.iter_mut().zip(bytes.rchunks(8)) {
        *word = load_be(chunk);
    }
}

/// Writes little-endian words as big-endian bytes.
#[inline]
pub(crate) fn store_words(bytes: &mut [u8], words: &[u64]) {
    for (chunk, word) in bytes.rchunks_mut(8).zip(words) {
        store_be(chunk, *word);
    }
}

/// Reads `width` bits, at most 64, from bit `at`. The caller checks that `data` has them.
pub(crate) fn read_bits(data: &[u8], at: usize, width: u32) -> u64 {
    let (mut value, mut at, mut left) = (0u64, at, width);
    while left > 0 {
        let room = 8 - (at % 8) as u32;
        let take = room.min(left);
        let part = (u64::from(data[at / 8]) >> (room - take)) & mask(take);
        value = (value << take) | part;
        at += take as usize;
        left -= take;
    }
    value
}

/// Reads `width` bits from bit `at` into little-endian words. Words beyond the width become 0.
pub(crate) fn read_words(data: &[u8], at: usize, width: u32, words: &mut [u64]) {
    let mut left = width;
    for word in words {
        let take = left.min(64);
        left -= take;
        *word = read_bits(data, at + left as usize, take);
    }
}

/// Writes the low `width` bits of `value`, at most 64, to bit `at`. The target bits must be 0.
pub(crate) fn write_bits(data: &mut [u8], at: usize, width: u32, value: u64) {
    let (mut at, mut left) = (at, width);
    while left > 0 {
        let room = 8 - (at % 8) as u32;
        let take = room.min(left);
        let part = (value >> (left - take)) & mask(take);
        data[at / 8] |= (part << (room - take)) as u8;
        at += take as usize;
        left -= take;
    }
}

/// Writes the low `width` bits of little-endian words to bit `at`. The target bits must be 0.
pub(crate) fn write_words(data: &mut [u8], at: usize, width: u32, words: &[u64]) {
    let mut left = width;
    for word in words {
        let take = left.min(64);
        left -= take;
        write_bits(data, at + left as usize, take, *word);
    }
}

/// Concatenates bit strings: for the deparsed packet, or for the input of a hash.
#[derive(Debug, Clone, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Number of bits used in the last byte; 0 if it is full or there is none.
    partial: u32,
}

impl BitWriter {
    /// Removes all bits and keeps the allocation.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.partial = 0;
    }

    /// The bits as bytes. The last byte is padded with zeros on the right.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True if the bits end on a byte boundary.
    #[inline]
    pub(crate) fn is_aligned(&self) -> bool {
        self.partial == 0
    }

    /// Truncates to `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        if length < self.bytes.len() {
            self.bytes.truncate(length);
            self.partial = 0;
        }
    }

    /// Appends `length` zero bytes, which the caller fills. The writer must be aligned.
    #[inline]
    pub(crate) fn grow(&mut self, length: usize) -> &mut [u8] {
        debug_assert!(self.is_aligned());
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        &mut self.bytes[start..]
    }

    /// Appends the low `width` bits of `value`, at most 64.
    pub(crate) fn push(&mut self, value: u64, width: u32) {
        if self.is_aligned() && width.is_multiple_of(8) {
            self.bytes.extend_from_slice(&value.to_be_bytes()[8 - (width / 8) as usize..]);
            return;
        }
        let mut left = width;
        while left > 0 {
            if self.partial == 0 {
                self.bytes.push(0);
            }
            let room = 8 - self.partial;
            let take = room.min(left);
            let part = ((value >> (left - take)) & mask(take)) as u8;
            if let Some(last) = self.bytes.last_mut() {
                *last |= part << (room - take);
            }
            self.partial = (self.partial + take) % 8;
            left -= take;
        }
    }

    /// Appends the low `width` bits of little-endian words.
    pub fn push_words(&mut self, words: &[u64], width: u32) {
        let count = width.div_ceil(64) as usize;
        for (i, word) in words[..count].iter().enumerate().rev() {
            let above = 64 * i as u32;
            self.push(*word, (width - above).min(64));
        }
    }

    /// Appends the bits of `data` from bit `at` to the end.
    pub fn push_rest(&mut self, data: &[u8], at: usize) {
        if self.is_aligned() && at.is_multiple_of(8) {
            self.bytes.extend_from_slice(&data[(at / 8).min(data.len())..]);
            return;
        }
        let (mut at, end) = (at, data.len() * 8);
        while at < end {
            let take = (end - at).min(64) as u32;
            self.push(read_bits(data, at, take), take);
            at += take as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_cross_bytes_are_read_as_written() {
        let widths = [3u32, 13, 1, 64, 7, 40, 128, 9, 200, 5];
        let mut writer = BitWriter::default();
        let mut expected = Vec::new();
        for (i, width) in widths.iter().enumerate() {
            let mut words: Vec<u64> = (0..width.div_ceil(64))
                .map(|k| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(u64::from(k) + i as u64 + 1))
                .collect();
            if let Some(last) = words.last_mut() {
                *last &= mask(if width % 64 == 0 { 64 } else { width % 64 });
            }
            writer.push_words(&words, *width);
            expected.push(words);
        }
        let mut at = 0;
        for (width, expected) in widths.iter().zip(&expected) {
            let mut words = vec![0; expected.len()];
            read_words(writer.bytes(), at, *width, &mut words);
            assert_eq!(&words, expected, "width {width} at bit {at}");
            at += *width as usize;
        }
    }

    #[test]
    fn payload_after_an_unaligned_header_keeps_its_bits() {
        let mut writer = BitWriter::default();
        writer.push(0b101, 3);
        writer.push_rest(&[0xab, 0xcd], 4);
        assert_eq!(writer.bytes(), [0b1011_0111, 0b1001_1010]);
    }
}
