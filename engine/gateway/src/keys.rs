//! The encoding of keys and values on the wire: that of `netkv.client`, so that a key has one
//! record for all programs. `netkv/client/keys.py` has the rules.

use blake2b_simd::Params;
use netkv_rack::session::OwnedKey;
use netkv_wire::{crc32, partition};

use crate::text;

/// Bytes of a key on the wire, with schemes of single keys.
const KEY_BYTES: usize = size_of::<netkv_wire::Key>();
const MAX_VALUE: usize = 1024;
/// Limit of a key that is stored before its value, since its length has one byte.
const MAX_KEY: usize = 255;
/// The last byte of an encoded key is this, or this and the length of the key.
const TAG: u8 = 0xf0;
/// Prefix of the stores' own records.
const RESERVED: &[u8] = b"netkv:";

/// How a scheme encodes keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// 16 bytes on the wire.
    Fixed,
    /// 4 to 64 bytes, unchanged on the wire.
    Named,
}

/// The keys of a rack.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// Their encoding.
    pub encoding: Encoding,
    /// Servers of the rack.
    pub servers: u16,
}

/// A key of a user, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The key on the wire.
    pub wire: OwnedKey,
    /// The key, if it is stored before its value because `wire` is a digest.
    stored: Option<Box<[u8]>>,
    encoding: Encoding,
}

impl Keys {
    /// Keys that one operation may read.
    pub fn max_per_read(&self) -> usize {
        match self.encoding {
            Encoding::Fixed => 1 << 16,
            Encoding::Named => 128,
        }
    }

    /// The encoded key.
    ///
    /// # Errors
    ///
    /// A sentence, if the key is too short or too long.
    pub fn name(&self, key: &[u8]) -> Result<Name, String> {
        let encoding = self.encoding;
        if encoding == Encoding::Named {
            if !(4..=64).contains(&key.len()) {
                return Err(format!(
                    "With this scheme a key has 4 to 64 bytes, not {}.",
                    text::thousands(key.len())
                ));
            }
            return Ok(Name { wire: OwnedKey::from_slice(key), stored: None, encoding });
        }
        if !(1..=MAX_KEY).contains(&key.len()) {
            return Err(format!(
                "A key has 1 to {MAX_KEY} bytes, not {}.",
                text::thousands(key.len())
            ));
        }
        let mut wire = [0; KEY_BYTES];
        if !key.starts_with(RESERVED) {
            if key.len() < KEY_BYTES {
                wire[..key.len()].copy_from_slice(key);
                wire[KEY_BYTES - 1] = TAG | key.len() as u8;
                return Ok(Name { wire: wire.into(), stored: None, encoding });
            }
            if key.len() == KEY_BYTES && key[KEY_BYTES - 1] < TAG {
                return Ok(Name { wire: OwnedKey::from_slice(key), stored: None, encoding });
            }
        }
        let digest = Params::new().hash_length(KEY_BYTES - 1).hash(key);
        wire[..KEY_BYTES - 1].copy_from_slice(digest.as_bytes());
        wire[KEY_BYTES - 1] = TAG;
        Ok(Name { wire: wire.into(), stored: Some(key.into()), encoding })
    }

    /// The server that owns a key.
    pub fn server(&self, name: &Name) -> u32 {
        match self.encoding {
            Encoding::Named => crc32(&name.wire) % u32::from(self.servers),
            Encoding::Fixed => {
                let mut key = [0; KEY_BYTES];
                key.copy_from_slice(&name.wire);
                partition(&key, self.servers).into()
            }
        }
    }
}

impl Name {
    /// The key of the user.
    pub fn key(&self) -> &[u8] {
        match (&self.stored, self.encoding) {
            (Some(key), _) => key,
            (None, Encoding::Fixed) if self.wire[KEY_BYTES - 1] >= TAG => {
                &self.wire[..usize::from(self.wire[KEY_BYTES - 1] & !TAG)]
            }
            (None, _) => &self.wire,
        }
    }

    /// The value as it is stored.
    ///
    /// # Errors
    ///
    /// A sentence, if the value is too long.
    pub fn pack(&self, value: &[u8]) -> Result<Vec<u8>, String> {
        let prefix = self.stored.as_ref().map_or(0, |key| 1 + key.len());
        let most = MAX_VALUE - prefix;
        if value.len() > most {
            let whose = match &self.stored {
                Some(key) => format!(" of a key of {} bytes", key.len()),
                None => String::new(),
            };
            return Err(format!(
                "A value{whose} has up to {} bytes; that of {} has {}.",
                text::thousands(most),
                text::key(self.key()),
                text::thousands(value.len())
            ));
        }
        let mut packed = Vec::with_capacity(prefix + value.len());
        if let Some(key) = &self.stored {
            packed.push(key.len() as u8);
            packed.extend_from_slice(key);
        }
        packed.extend_from_slice(value);
        Ok(packed)
    }

    /// The value in what was stored.
    ///
    /// # Errors
    ///
    /// A sentence, if it is the record of another key.
    pub fn unpack<'a>(&self, stored: &'a [u8]) -> Result<&'a [u8], String> {
        let Some(key) = &self.stored else { return Ok(stored) };
        match stored.split_first() {
            Some((&length, rest)) if usize::from(length) == key.len() => rest.strip_prefix(&**key),
            _ => None,
        }
        .ok_or_else(|| {
            format!(
                "The record of {} belongs to another key with the same digest; use another key.",
                text::key(key)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXED: Keys = Keys { encoding: Encoding::Fixed, servers: 4 };
    const NAMED: Keys = Keys { encoding: Encoding::Named, servers: 4 };

    /// As `netkv.client.keys.FixedKeys().name(key).wire.hex()` prints them.
    #[test]
    fn keys_on_the_wire_are_those_of_the_python_client() {
        let digests = [
            (&b"netkv:1"[..], "20083f3e38d13eddb2421593f945d3f0"),
            (b"a key of more than 16 bytes", "c4a06c70b118ea3f0157a079dec78ff0"),
            (&[0xff; 16], "04cac7464f1826b1b021ccb581691cf0"),
            (&[b'k'; 255], "ffc632aa2470ead9e60c629b578ebbf0"),
        ];
        for (key, expected) in digests {
            let name = FIXED.name(key).unwrap();
            let hex: String = name.wire.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected);
            assert_eq!(name.key(), key);
        }
        assert_eq!(&FIXED.name(b"user:1").unwrap().wire[..], b"user:1\0\0\0\0\0\0\0\0\0\xf6");
        assert_eq!(&FIXED.name(b"key:000000000001").unwrap().wire[..], b"key:000000000001");
        assert_eq!(&NAMED.name(b"user").unwrap().wire[..], b"user");
    }

    #[test]
    fn different_keys_stay_different() {
        let mut keys: Vec<_> = (1..=255).map(|length| vec![0u8; length]).collect();
        keys.extend((0..=255).map(|last| [&[b'k'; 15][..], &[last]].concat()));
        let mut wires = Vec::new();
        for key in &keys {
            let name = FIXED.name(key).unwrap();
            assert_eq!(name.key(), key);
            wires.push(name.wire);
        }
        wires.sort();
        wires.dedup();
        assert_eq!(wires.len(), keys.len());
    }

    #[test]
    fn values_come_back_from_what_was_stored() {
        for key in [&b"a"[..], b"key:000000000001", b"a key of more than 16 bytes"] {
            let name = FIXED.name(key).unwrap();
            for value in [&b""[..], b"v", &[7; 900]] {
                assert_eq!(name.unpack(&name.pack(value).unwrap()).unwrap(), value);
            }
        }
    }

    #[test]
    fn limits_are_told_in_sentences() {
        let fails = |keys: Keys, key: &[u8]| keys.name(key).unwrap_err();
        assert_eq!(fails(FIXED, b""), "A key has 1 to 255 bytes, not 0.");
        assert_eq!(fails(FIXED, &[0; 1256]), "A key has 1 to 255 bytes, not 1,256.");
        assert_eq!(fails(NAMED, b"abc"), "With this scheme a key has 4 to 64 bytes, not 3.");
        let short = FIXED.name(b"a").unwrap();
        assert_eq!(
            short.pack(&[0; 1025]).unwrap_err(),
            "A value has up to 1,024 bytes; that of b'a' has 1,025."
        );
        let long = FIXED.name(b"a key of more than 16 bytes").unwrap();
        assert_eq!(long.pack(&[0; 996]).unwrap().len(), 1024);
        assert_eq!(
            long.pack(&[0; 997]).unwrap_err(),
            "A value of a key of 27 bytes has up to 996 bytes; that of b'a key of more than 16 \
             bytes' has 997."
        );
    }

    #[test]
    fn the_record_of_another_key_is_an_error() {
        let name = FIXED.name(b"a key of more than 16 bytes").unwrap();
        let other = FIXED.name(b"another key of over 16 bytes").unwrap();
        let error = name.unpack(&other.pack(b"v").unwrap()).unwrap_err();
        assert!(error.contains("belongs to another key with the same digest"), "{error}");
        assert!(name.unpack(b"").is_err());
    }
}
