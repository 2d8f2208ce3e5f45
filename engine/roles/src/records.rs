//! How the records of a data set are named and divided among servers.

use netkv_wire::{Key, multiget, partition};
use netkv_workload::{key_id, key_of, wire_key};

/// Prefix of the keys of a store's own records.
pub const RESERVED: [u8; 6] = *b"netkv:";

/// Whether a key is one of a store's own records, which clients may not access. Keys of the
/// keyspace never are, even with that prefix.
pub fn is_reserved(key: &Key) -> bool {
    key.starts_with(&RESERVED) && key_id(key).is_none()
}

/// How records are named, and which server owns each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keying {
    /// Keys of 16 bytes, a range of the hash for each server.
    Ranges,
    /// Keys of this many bytes, the hash modulo the number of servers.
    Modulo(usize),
}

impl Keying {
    /// Calls `take` with the name under which a record of the keyspace is stored (empty: its key)
    /// and its owner.
    pub fn record<T>(self, id: u64, servers: u16, take: impl FnOnce(&[u8], u16) -> T) -> T {
        match self {
            Self::Ranges => take(&[], partition(&key_of(id), servers)),
            Self::Modulo(size) => {
                let name = wire_key(id, size);
                take(name.as_bytes(), multiget::owner(name.as_bytes(), servers))
            }
        }
    }
}
