//! Keys of a request as bits of a number.

/// A bit for each key of a request: 1 for the keys from `from` up to but excluding `to`.
pub(crate) fn key_bits(from: usize, to: usize) -> u128 {
    match to.saturating_sub(from) {
        0 => 0,
        keys => u128::MAX >> (128 - keys) << from,
    }
}

/// The first key with bit 1, and the number of keys from it to the last key with bit 1.
pub(crate) fn key_span(bits: u128) -> (u8, u8) {
    let (first, end) = (bits.trailing_zeros(), 128 - bits.leading_zeros());
    (first as u8, end.saturating_sub(first) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_keys_reach_from_the_first_to_the_128th() {
        assert_eq!(key_bits(0, 128), u128::MAX);
        assert_eq!(key_bits(0, 1), 1);
        assert_eq!(key_bits(127, 128), 1 << 127);
        assert_eq!((key_bits(3, 6), key_bits(5, 5), key_bits(6, 5)), (0b11_1000, 0, 0));
        assert_eq!(key_span(key_bits(0, 128)), (0, 128));
        assert_eq!(key_span(0b1010_0000), (5, 3));
        assert_eq!(key_span(1 << 127), (127, 1));
    }
}
