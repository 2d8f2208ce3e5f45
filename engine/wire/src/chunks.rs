//! Sizes of values in chunks of 16 bytes, and of entries in the value arrays of a switch.

use crate::CHUNK;

/// Number of chunks of a value of `length` bytes.
pub const fn chunks_for(length: usize) -> usize {
    length.div_ceil(CHUNK)
}

/// Bytes of a value of `length` bytes on the wire, padding included.
pub const fn padded(length: usize) -> usize {
    chunks_for(length) * CHUNK
}

/// Bytes that fit into an entry with this bitmap: 16 for each bit set.
pub const fn capacity(bitmap: u8) -> usize {
    bitmap.count_ones() as usize * CHUNK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_whole_chunks() {
        assert_eq!([0, 1, 16, 17, 128].map(chunks_for), [0, 1, 1, 2, 8]);
        assert_eq!([0, 1, 16, 17, 128].map(padded), [0, 16, 16, 32, 128]);
        assert_eq!([0, 0b1, 0b1010_0000, 0xff].map(capacity), [0, 16, 32, 128]);
    }
}
