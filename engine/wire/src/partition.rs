//! Partitioning: each server owns a range of the CRC-32 hashes of keys.
//!
//! Clients and servers use this code. The switch has the same ranges in a table that matches
//! `HashAlgorithm.crc32` of the 128-bit key.

use crate::{Key, crc32};

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
