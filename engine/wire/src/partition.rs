//! Partitioning: each server owns a range of the CRC-32 hashes of keys.
//!
//! Clients and servers use this code. The switch has the same ranges in a table that matches
//! `HashAlgorithm.crc32` of the 128-bit key.

use crate::Key;

/// `TABLES[n][byte]` is the CRC of `byte` and `n` zero bytes after it. With these tables the
/// lookups of 8 bytes do not depend on each other (slicing-by-8).
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
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

/// Standard CRC-32 (IEEE 802.3, reflected, start and end value 0xFFFFFFFF).
pub fn crc32(bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let crc = eights.iter().fold(!0u32, |crc, eight| {
        let word = u64::from_le_bytes(*eight) ^ u64::from(crc);
        (0..8).fold(0, |sum, at| sum ^ TABLES[7 - at][usize::from((word >> (8 * at)) as u8)])
    });
    !rest.iter().fold(crc, |crc, &byte| (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)])
}

/// The server of `servers` that owns `key`.
///
/// Server `i` of `n` owns the hashes from `i * 2^32 / n` up to, not including,
/// `(i + 1) * 2^32 / n`, with integer division.
///
/// # Panics
///
/// If `servers` is 0.
pub fn partition(key: &Key, servers: u16) -> u16 {
    assert!(servers > 0, "a key has no owner when there are no servers");
    let hash = u64::from(crc32(key));
    // The guess is correct or one too small, because the bounds are rounded down.
    let guess = (hash * u64::from(servers)) >> 32;
    let next = ((guess + 1) << 32) / u64::from(servers);
    (guess + u64::from(hash >= next)) as u16
}

/// First and last hash that server `server` of `servers` owns, both included.
pub const fn partition_range(server: u16, servers: u16) -> (u32, u32) {
    let (server, servers) = (server as u64, servers as u64);
    let first = (server << 32) / servers;
    let end = ((server + 1) << 32) / servers;
    (first as u32, (end - 1) as u32)
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

    #[test]
    fn the_owner_is_the_server_whose_range_holds_the_hash() {
        for servers in [1u16, 2, 3, 7, 16, 100, 128, 1000] {
            for number in 0..2000u64 {
                let mut key = [0u8; 16];
                key[8..].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
                let (first, last) = partition_range(partition(&key, servers), servers);
                assert!((first..=last).contains(&crc32(&key)));
            }
        }
    }

    #[test]
    fn ranges_leave_no_gap_and_do_not_overlap() {
        for servers in [1u16, 3, 5, 7, 127, 128, 999] {
            let mut expected = 0u64;
            for server in 0..servers {
                let (first, last) = partition_range(server, servers);
                assert_eq!(u64::from(first), expected);
                expected = u64::from(last) + 1;
            }
            assert_eq!(expected, 1 << 32);
        }
    }
}
