//! The choice of the requests that a switch counts.

use super::layout::{KV_END, SENDER};

/// `TABLES[n][byte]` is the CRC-16 of `byte` and `n` zero bytes after it (slicing-by-8; reflected
/// polynomial 0x8005).
static TABLES: [[u16; 256]; 8] = tables();

const fn tables() -> [[u16; 256]; 8] {
    let mut tables = [[0u16; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xa001 } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

/// The CRC-16, start value 0, of words whose first byte is the least significant one.
#[inline]
fn crc16(words: impl IntoIterator<Item = u64>) -> u16 {
    words.into_iter().fold(0, |crc, word| {
        let word = word ^ u64::from(crc);
        (0..8).fold(0, |sum, at| sum ^ TABLES[7 - at][usize::from((word >> (8 * at)) as u8)])
    })
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
        u32::from(crc16(std::iter::once(first).chain(others))) < self.below
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
