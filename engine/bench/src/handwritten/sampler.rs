//! The choice of the requests that a switch counts.

use netkv_wire::{CrcTables, crc_tables, crc_word};

use super::layout::{KV_END, SENDER};

/// Of the reflected polynomial 0x8005.
static CRC16: CrcTables = crc_tables(0xa001);

/// The CRC-16, start value 0, of words whose first byte is the least significant one.
#[inline]
fn crc16(words: impl IntoIterator<Item = u64>) -> u32 {
    words.into_iter().fold(0, |crc, word| crc_word(&CRC16, crc, word))
}

/// Selects `below` of 65,536 requests.
pub(crate) struct Sampler {
    pub below: u32,
}

impl Sampler {
    /// Whether the request in this frame is counted, by its sender, request number and key.
    #[inline]
    pub(crate) fn takes(&self, frame: &[u8]) -> bool {
        // Two zeros before the input make it whole words, and do not change a CRC that starts at 0.
        let (words, _) = frame[SENDER - 2..KV_END].as_chunks::<8>();
        let [first, others @ ..] = words else { return false };
        let first = u64::from_le_bytes(*first) & !0xffff;
        let others = others.iter().map(|word| u64::from_le_bytes(*word));
        crc16(std::iter::once(first).chain(others)) < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc16_has_the_published_check_value() {
        let mut input = [0; 16];
        input[7..].copy_from_slice(b"123456789");
        let words = input.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        assert_eq!(crc16(words), 0xbb3d);
    }
}
