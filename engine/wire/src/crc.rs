//! Reflected CRCs of up to 32 bits.

/// Tables of a polynomial: `tables[n][byte]` is the CRC of `byte` and `n` zero bytes after it. With
/// these tables the lookups of 8 bytes do not depend on each other (slicing-by-8).
pub type CrcTables = [[u32; 256]; 8];

/// The tables of a reflected polynomial.
pub const fn crc_tables(polynomial: u32) -> CrcTables {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ polynomial } else { crc >> 1 };
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

/// The CRC after eight more bytes, of which the first is the least significant one of `word`.
#[inline]
pub fn crc_word(tables: &CrcTables, crc: u32, word: u64) -> u32 {
    let word = word ^ u64::from(crc);
    (0..8).fold(0, |sum, at| sum ^ tables[7 - at][usize::from((word >> (8 * at)) as u8)])
}

static CRC32: CrcTables = crc_tables(0xedb8_8320);

/// Standard CRC-32 (IEEE 802.3, reflected, start and end value 0xFFFFFFFF).
pub fn crc32(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let crc = words.fold(!0, |crc, word| crc_word(&CRC32, crc, word));
    !rest.iter().fold(crc, |crc, &byte| (crc >> 8) ^ CRC32[0][usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_has_the_published_check_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn crc32_equals_the_bitwise_computation() {
        let bytes: Vec<u8> = (0..100u32).map(|i| (i * i * 7 + i) as u8).collect();
        for length in 0..bytes.len() {
            let slow = bytes[..length].iter().fold(!0u32, |crc, &byte| {
                (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                    if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
                })
            });
            assert_eq!(crc32(&bytes[..length]), !slow);
        }
    }
}
