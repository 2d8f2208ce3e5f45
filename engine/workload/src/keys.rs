//! Keys of 16 bytes from the ids of the keyspace.
//!
//! The first half of a key is a scrambled id, so that the hash ranges of the servers fill evenly;
//! the second half is the id itself, so that a store can tell keys of the keyspace from others.

use crate::mix64;

/// A key, as on the wire.
pub type Key = [u8; 16];

const SALT: u64 = 0x6e65_746b_7631_6b65;

/// The first half of the key with this id, as a number: no two ids have the same.
pub(crate) fn scrambled(id: u64) -> u64 {
    mix64(id ^ SALT)
}

/// The key with this id.
pub fn key_of(id: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&scrambled(id).to_be_bytes());
    key[8..].copy_from_slice(&id.to_be_bytes());
    key
}

/// The id of this key, if it is one that [`key_of`] gives.
pub fn key_id(key: &Key) -> Option<u64> {
    let half = |at: usize| key[at..at + 8].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let id = half(8);
    (half(0) == scrambled(id)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_its_id_and_a_foreign_key_does_not() {
        for id in [0, 1, 255, 99_999_999, u64::MAX] {
            assert_eq!(key_id(&key_of(id)), Some(id));
        }
        assert_eq!(key_id(&[0; 16]), None);
        let mut broken = key_of(7);
        broken[0] ^= 1;
        assert_eq!(key_id(&broken), None);
    }
}
