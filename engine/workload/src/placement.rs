//! Where the records are: which of them are hot, and which server owns each.
//!
//! By seed, both are random. [`Placement::Ycsb`] is the placement of a public artefact
//! (docs/use/scenarios.md), in which nothing is random:
//!
//! 1. a popularity rank has the record whose number is the FNV hash of the rank, modulo the number
//!    of records (YCSB's scrambled Zipf), so a record may have several ranks;
//! 2. the record's name is the FNV hash of its number, written into a key of 16 bytes;
//! 3. the lower 15 bits of the CRC-32 of that key say which of 32,768 partitions it is in, and a
//!    server owns as many partitions as every other, in their order.
//!
//! A key of netkv contains the record's number instead of the hash, since stores and clients look
//! it up there. Two of its bytes give it a CRC-32 whose upper 15 bits are the lower 15 of step 3.
//! netkv divides records among servers by the upper bits. So 2, 4, ... servers own the records that
//! they own in the artefact, and switches find them as always.

use std::ops::Range;
use std::sync::LazyLock;

use netkv_wire::crc32;
use serde::Deserialize;

/// How records get their popularity and their server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// By the seed.
    #[default]
    Seed,
    /// As in the artefact.
    Ycsb,
}

/// Ids of records that are placed as in the artefact.
const YCSB_IDS: Range<u64> = 1 << 47..1 << 48;

/// Number of items from which YCSB's scrambled Zipf draws, however many records there are.
pub(crate) const YCSB_RANKS: u64 = 10_000_000_001;

impl Placement {
    /// The id of record `number`.
    pub fn id(self, number: u64) -> u64 {
        match self {
            Self::Seed => number,
            Self::Ycsb => YCSB_IDS.start + number,
        }
    }
}

/// The number of the record with this id, whatever its placement.
pub fn record_number(id: u64) -> u64 {
    if is_ycsb(id) { id - YCSB_IDS.start } else { id }
}

/// Whether the record with this id is placed as in the artefact.
#[inline]
pub(crate) fn is_ycsb(id: u64) -> bool {
    YCSB_IDS.contains(&id)
}

/// The number of the record that has a popularity rank.
pub(crate) fn ycsb_record(rank: u64, records: u64) -> u64 {
    fnv(rank) % records
}

/// The upper 16 bits of the second half of the key with this id, which is placed as in the
/// artefact. `key` is the key with zeros in their place.
pub(crate) fn ycsb_patch(id: u64, key: &[u8; 16]) -> u16 {
    let upper = crc32(key) >> 17;
    PATCHES[(upper ^ ycsb_partition(record_number(id))) as usize]
}

/// The partition (of 32,768) of the record with this number.
fn ycsb_partition(number: u64) -> u32 {
    let name = fnv(number);
    let mut key = [0; 16];
    key[8..12].copy_from_slice(&(name as u32).to_be_bytes());
    key[12..14].copy_from_slice(&((name >> 32) as u16).to_be_bytes());
    key[14..].copy_from_slice(&((name >> 48) as u16).to_be_bytes());
    crc32(&key) & 0x7fff
}

/// YCSB's hash of a number: FNV-1a of its bytes, the least significant one first, without the sign.
fn fnv(number: u64) -> u64 {
    let hash = number.to_le_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash.cast_signed().unsigned_abs()
}

/// For each change of the upper 15 bits of a key's CRC-32, bytes 8 and 9 that cause it. CRCs are
/// linear, so it does not depend on the key.
static PATCHES: LazyLock<Box<[u16]>> = LazyLock::new(|| {
    let mut patches = vec![0; 1 << 15];
    let mut key = [0; 16];
    let unpatched = crc32(&key);
    for patch in 0..=u16::MAX {
        key[8..10].copy_from_slice(&patch.to_be_bytes());
        patches[((crc32(&key) ^ unpatched) >> 17) as usize] = patch;
    }
    patches.into()
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GrayZipf, key_id, key_of};
    use netkv_wire::partition;

    #[test]
    fn keys_have_the_hash_of_their_names_in_the_artefact() {
        for number in (0..100_000).chain([100_000_000, 999_999_999_999]) {
            let id = Placement::Ycsb.id(number);
            let key = key_of(id);
            assert_eq!(crc32(&key) >> 17, ycsb_partition(number));
            assert_eq!(key_id(&key), Some(id));
            assert_eq!((record_number(id), record_number(number)), (number, number));
            assert_ne!(key[..8], key_of(number)[..8], "a record by seed is another");
        }
        let mut key = key_of(Placement::Ycsb.id(7));
        key[9] ^= 1;
        assert_eq!(key_id(&key), None);
    }

    #[test]
    fn hashes_of_numbers_are_those_of_ycsb() {
        // FNV-1a of eight zero bytes, and of 1 and seven zero bytes, without the sign.
        assert_eq!(fnv(0), 0xa8c7_f832_281a_39c5_u64.wrapping_neg());
        assert_eq!(fnv(1), 0x89cd_3129_1d2a_efa4_u64.wrapping_neg());
    }

    /// The busiest servers are those that the artefact's scripts name; the normalised throughputs
    /// without and with the 10,000 hottest records cached are what follows from its rules for them
    /// (its results: 11.03, 14.98, 18.79, 21.95 and 26.03, 51.78, 103.24, 205.0).
    #[test]
    fn servers_have_the_load_that_they_have_in_the_artefact() {
        const RANKS: u64 = 500_000;
        let zipf = GrayZipf::new(YCSB_RANKS, 0.99);
        let keys: Vec<_> = (0..RANKS)
            .map(|rank| key_of(Placement::Ycsb.id(ycsb_record(rank, 100_000_001))))
            .collect();
        let normalised = |servers: u16, cached: u64| {
            let rest = (1.0 - zipf.mass(RANKS)) / f64::from(servers);
            let mut load = vec![rest; servers.into()];
            for rank in cached..RANKS {
                load[usize::from(partition(&keys[rank as usize], servers))] +=
                    zipf.probability(rank);
            }
            let (busiest, most) =
                load.into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            (busiest, 1.0 / most)
        };
        for (servers, busiest, all, uncached) in [
            (16, 14, 11.10, 26.2),
            (32, 29, 15.10, 52.3),
            (64, 59, 19.09, 104.0),
            (128, 118, 22.57, 205.4),
        ] {
            let (found, without) = normalised(servers, 0);
            assert_eq!(found, busiest);
            assert!((without / all - 1.0).abs() < 0.001, "{without} of {servers} servers");
            let (_, cached) = normalised(servers, 10_000);
            assert!((cached / uncached - 1.0).abs() < 0.005, "{cached} of {servers} servers");
        }
    }
}
