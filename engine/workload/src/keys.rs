//! Keys of 16 bytes from the ids of the keyspace.
//!
//! The first half of a key is the scrambled id, which distributes keys evenly over the hash ranges
//! of the servers. The second half is the id itself, so a store recognizes keys of the keyspace. If
//! the id is that of a record whose server is given ([`crate::Placement`]), the upper 16 bits of the
//! second half, where the id has zeros, bring the key to that server.

use crate::mix64;
use crate::placement::{is_ycsb, ycsb_patch};

/// A key, as on the wire.
pub type Key = [u8; 16];

const SALT: u64 = 0x6e65_746b_7631_6b65;

/// The first half of the key with this id, as a number. It is unique.
pub(crate) fn scrambled(id: u64) -> u64 {
    mix64(id ^ SALT)
}

/// The key with this id.
pub fn key_of(id: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&scrambled(id).to_be_bytes());
    key[8..].copy_from_slice(&id.to_be_bytes());
    if is_ycsb(id) {
        let patch = ycsb_patch(id, &key);
        key[8..10].copy_from_slice(&patch.to_be_bytes());
    }
    key
}

/// The id of a key; none if the key is not a result of [`key_of`].
pub fn key_id(key: &Key) -> Option<u64> {
    let (halves, _) = key.as_chunks::<8>();
    let [first, second] = [halves[0], halves[1]].map(u64::from_be_bytes);
    if first == scrambled(second) && !is_ycsb(second) {
        return Some(second);
    }
    let id = second & (u64::MAX >> 16);
    (is_ycsb(id) && first == scrambled(id) && *key == key_of(id)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_keyspace_has_its_id_and_others_have_none() {
        for id in [0, 1, 255, 99_999_999, u64::MAX] {
            assert_eq!(key_id(&key_of(id)), Some(id));
        }
        assert_eq!(key_id(&[0; 16]), None);
        let mut broken = key_of(7);
        broken[0] ^= 1;
        assert_eq!(key_id(&broken), None);
    }
}
