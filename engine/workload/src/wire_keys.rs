//! Keys of 4 to 64 bytes, the wire format of keys in multigets.
//!
//! A key of the keyspace encodes its id in the configured number of bytes. Any other key is chosen
//! by a user. Roles identify it by a fingerprint of 16 bytes.

use crate::keys::{Key, key_id, key_of};
use crate::mix64;

/// Minimum size of a key in bytes.
pub const MIN_KEY_SIZE: usize = 4;
/// Maximum size of a key in bytes.
pub const MAX_KEY_SIZE: usize = 64;

/// A key of 4 to 64 bytes.
#[derive(Clone, Copy)]
pub struct WireKey {
    bytes: [u8; MAX_KEY_SIZE],
    length: u8,
}

impl WireKey {
    /// The key with these bytes; `None` if the number of bytes is out of range.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if !(MIN_KEY_SIZE..=MAX_KEY_SIZE).contains(&bytes.len()) {
            return None;
        }
        let mut key = Self { bytes: [0; MAX_KEY_SIZE], length: bytes.len() as u8 };
        key.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(key)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl PartialEq for WireKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for WireKey {}

impl std::fmt::Debug for WireKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// The number of ids that have a key of `size` bytes.
pub const fn max_keys(size: usize) -> u64 {
    if size >= 8 { u64::MAX } else { 1 << (8 * size) }
}

/// The key with this id, below [`max_keys`], in `size` bytes from 4 to 64.
///
/// With at least 16 bytes it is [`key_of`] and zeros, so a key of the keyspace can be recognized. A
/// shorter one is the id, big-endian in up to 8 bytes, and zeros.
pub fn wire_key(id: u64, size: usize) -> WireKey {
    let size = size.clamp(MIN_KEY_SIZE, MAX_KEY_SIZE);
    let mut key = WireKey { bytes: [0; MAX_KEY_SIZE], length: size as u8 };
    if size >= 16 {
        key.bytes[..16].copy_from_slice(&key_of(id));
    } else {
        let width = size.min(8);
        key.bytes[..width].copy_from_slice(&id.to_be_bytes()[8 - width..]);
    }
    key
}

/// The key of 16 bytes by which roles, checkers and stores identify a wire key. Keys of the
/// keyspace have `size` bytes: they become [`key_of`] their id. Other keys become a fingerprint.
///
/// The result is unique, except for collisions of fingerprints, which have 120 bits.
pub fn key_of_wire(bytes: &[u8], size: usize) -> Key {
    keyspace_id(bytes, size).map_or_else(|| fingerprint(bytes), key_of)
}

/// The id of a wire key, if it belongs to the keyspace with keys of `size` bytes.
pub fn keyspace_id(bytes: &[u8], size: usize) -> Option<u64> {
    if bytes.len() != size || !(MIN_KEY_SIZE..=MAX_KEY_SIZE).contains(&size) {
        return None;
    }
    let (name, zeros) = bytes.split_at(if size >= 16 { 16 } else { size.min(8) });
    let id = match <&Key>::try_from(name) {
        Ok(key) => key_id(key)?,
        Err(_) => name.iter().fold(0, |id, &byte| id << 8 | u64::from(byte)),
    };
    zeros.iter().all(|&byte| byte == 0).then_some(id)
}

/// Two independent hashes of all bytes. The result is no key of the keyspace and no reserved key.
fn fingerprint(bytes: &[u8]) -> Key {
    let mix = |seed: u64| {
        let start = mix64(seed ^ bytes.len() as u64);
        bytes.chunks(8).fold(start, |sum, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix64(sum.rotate_left(23) ^ u64::from_be_bytes(word)).wrapping_add(sum)
        })
    };
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mix(0x6d75_6c74_6967_6574).to_be_bytes());
    key[8..].copy_from_slice(&mix(0x6669_6e67_6572_7072).to_be_bytes());
    key[0] = 0xff;
    if key_id(&key).is_some() {
        key[0] = 0xfe;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_size_decode_to_their_ids() {
        for size in MIN_KEY_SIZE..=MAX_KEY_SIZE {
            for id in [0, 1, 255, 65_536, 0xffff_ffff, 1 << 39, 1_000_000_000_000] {
                if id >= max_keys(size) {
                    continue;
                }
                let key = wire_key(id, size);
                assert_eq!(key.as_bytes().len(), size);
                assert_eq!(keyspace_id(key.as_bytes(), size), Some(id), "{size} bytes");
                assert_eq!(key_of_wire(key.as_bytes(), size), key_of(id));
            }
        }
        assert_eq!(wire_key(0x0102, 4).as_bytes(), [0, 0, 1, 2]);
        assert_eq!(wire_key(7, 10).as_bytes(), [0, 0, 0, 0, 0, 0, 0, 7, 0, 0]);
        assert_eq!(max_keys(4), 1 << 32);
    }

    #[test]
    fn fingerprints_are_unique_and_outside_the_keyspace() {
        let mut seen = std::collections::HashMap::new();
        let mut check = |bytes: &[u8]| {
            let key = key_of_wire(bytes, 16);
            assert_eq!(key_id(&key), None);
            assert!(!key.starts_with(b"netkv:"));
            assert_eq!(seen.insert(key, bytes.to_vec()), None, "{bytes:?}");
        };
        for number in 0..20_000u32 {
            check(&number.to_be_bytes());
            check(format!("user:{number}").as_bytes());
        }
        // Keys that differ in length only, in one bit only, and in the order of their words.
        (4..=64).for_each(|length| check(&[b'x'; 64][..length]));
        for at in 0..64 * 8 {
            let mut key = [b'y'; 64];
            key[at / 8] ^= 1 << (at % 8);
            check(&key);
        }
        check(b"aaaaaaaabbbbbbbbcccccccc");
        check(b"bbbbbbbbaaaaaaaacccccccc");
        check(b"netkv:of a store");
        // A key of the keyspace with another size is a foreign key.
        assert_ne!(key_of_wire(&5u64.to_be_bytes(), 4), key_of(5));
        assert_ne!(key_of_wire(wire_key(5, 16).as_bytes(), 20), key_of(5));
        let mut long = wire_key(5, 20);
        long.bytes[19] = 1;
        assert_eq!(keyspace_id(long.as_bytes(), 20), None);
    }

    #[test]
    fn only_4_to_64_bytes_are_a_key() {
        assert!(WireKey::new(b"abc").is_none() && WireKey::new(&[1; 65]).is_none());
        assert_eq!(WireKey::new(b"abcd").unwrap().as_bytes(), b"abcd");
        assert_ne!(WireKey::new(b"abcd"), WireKey::new(b"abcd\0"));
        assert_eq!(format!("{:?}", WireKey::new(b"ab\0d").unwrap()), "\"ab\\x00d\"");
    }
}
