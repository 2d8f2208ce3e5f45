//! A store in memory that holds only what has been written.

use netkv_wire::Key;
use netkv_workload::{MAX_VALUE_SIZE, ValueSize, key_id};
use rustc_hash::FxHashMap;

use crate::{Applied, StoreCall, StoreOp, StoreResult, initial_value};

/// Keys and values in memory. Keys of the keyspace that have not been written have their initial
/// value, made up when it is read, so that 100 million keys take no memory and no loading.
#[derive(Debug)]
pub struct MemoryStore {
    keys: u64,
    value_size: ValueSize,
    /// What was written; `None` is a deleted key.
    written: FxHashMap<Key, Option<Vec<u8>>>,
    applied: Applied,
    scratch: Box<[u8; MAX_VALUE_SIZE]>,
}

impl MemoryStore {
    /// A store for the keyspace of ids 0 to `keys - 1`.
    pub fn new(keys: u64, value_size: ValueSize) -> Self {
        Self {
            keys,
            value_size,
            written: FxHashMap::default(),
            applied: Applied::default(),
            scratch: Box::new([0; MAX_VALUE_SIZE]),
        }
    }

    /// Carries out one call.
    pub fn execute(&mut self, call: &StoreCall<'_>) -> StoreResult<'_> {
        if let Some(origin) = call.origin {
            self.applied.mark(origin);
        }
        match call.op {
            StoreOp::Get => match self.get(&call.key) {
                Some(value) => StoreResult::Value(value),
                None => StoreResult::NotFound,
            },
            StoreOp::Put => {
                self.put(&call.key, call.value);
                StoreResult::Done
            }
            StoreOp::Delete => {
                self.delete(&call.key);
                StoreResult::Done
            }
        }
    }

    /// The value of a key.
    pub fn get(&mut self, key: &Key) -> Option<&[u8]> {
        if let Some(value) = self.written.get(key) {
            return value.as_deref();
        }
        let id = key_id(key).filter(|id| *id < self.keys)?;
        let value = &mut self.scratch[..self.value_size.initial(id)];
        initial_value(key, value);
        Some(value)
    }

    /// Writes a value.
    pub fn put(&mut self, key: &Key, value: &[u8]) {
        if let Some(Some(old)) = self.written.get_mut(key) {
            old.clear();
            old.extend_from_slice(value);
        } else {
            self.written.insert(*key, Some(value.to_vec()));
        }
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &Key) {
        self.written.insert(*key, None);
    }

    /// The requests whose writes are in this store, for a server that starts over it.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Number of keys that have been written or deleted.
    pub fn written(&self) -> usize {
        self.written.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WriteId, read_writer};
    use netkv_workload::key_of;

    #[test]
    fn unwritten_keys_have_their_initial_value_and_deleted_ones_none() {
        let mut store = MemoryStore::new(100_000_000, ValueSize::Uniform { min: 16, max: 1024 });
        let key = key_of(99_999_999);
        let value = store.get(&key).unwrap().to_vec();
        assert_eq!(read_writer(&key, &value), Some(WriteId::INITIAL));
        assert_eq!(store.get(&key_of(100_000_000)), None);
        store.put(&key, b"own");
        assert_eq!(store.get(&key), Some(&b"own"[..]));
        store.delete(&key);
        assert_eq!(store.get(&key), None);
        store.put(&key, b"again");
        assert_eq!(store.get(&key), Some(&b"again"[..]));
        assert_eq!(store.written(), 1);
    }
}
