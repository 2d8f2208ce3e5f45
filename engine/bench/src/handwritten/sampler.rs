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

/// The CRC-16 with start value 0.
#[inline]
fn crc16(bytes: &[u8]) -> u16 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let crc = eights.iter().fold(0, |crc, eight| {
        let word = u64::from_le_bytes(*eight) ^ u64::from(crc);
        (0..8).fold(0, |sum, at| sum ^ TABLES[7 - at][usize::from((word >> (8 * at)) as u8)])
    });
    rest.iter().fold(crc, |crc, &byte| (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)])
}

/// Selects `below` of 65,536 requests.
pub(crate) struct Sampler {
    pub below: u32,
}

impl Sampler {
    /// Whether the request in this frame is counted, by its sender, request number and key.
    #[inline]
    pub(crate) fn takes(&self, frame: &[u8]) -> bool {
        u32::from(crc16(&frame[SENDER..KV_END])) < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc16_has_the_published_check_value() {
        assert_eq!(crc16(b"123456789"), 0xbb3d);
        assert_eq!(crc16(b""), 0);
    }
}
