//! A store in memory that holds only what has been written.

use netkv_wire::{Key, Sequence};
use netkv_workload::{MAX_VALUE_SIZE, ValueSize, key_id};
use rustc_hash::FxHashMap;

use crate::{Applied, StoreCall, StoreOp, StoreResult, initial_value};

/// Keys and values in memory. Keys of the keyspace that have not been written have their initial
/// value, made up when it is read, so that 100 million keys take no memory and no loading.
#[derive(Debug)]
pub struct MemoryStore {
    keys: u64,
    value_size: ValueSize,
    written: FxHashMap<Key, Written>,
    applied: Applied,
    scratch: Box<[u8; MAX_VALUE_SIZE]>,
}

/// What became of a key that was written or deleted.
#[derive(Debug)]
struct Written {
    /// The last value; none if the key is deleted.
    value: Option<Vec<u8>>,
    /// Which write that was, if the store was told.
    sequence: Sequence,
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
        let sequence = call.sequence.unwrap_or_default();
        match call.op {
            StoreOp::Get => self.read(&call.key),
            StoreOp::Put => {
                self.keep(&call.key, call.value, sequence);
                StoreResult::Done
            }
            StoreOp::Delete => {
                self.written.insert(call.key, Written { value: None, sequence });
                StoreResult::Done
            }
        }
    }

    /// The value of a key.
    pub fn get(&mut self, key: &Key) -> Option<&[u8]> {
        match self.read(key) {
            StoreResult::Value(value, _) => Some(value),
            _ => None,
        }
    }

    /// Writes a value.
    pub fn put(&mut self, key: &Key, value: &[u8]) {
        self.keep(key, value, Sequence::default());
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &Key) {
        self.written.insert(*key, Written { value: None, sequence: Sequence::default() });
    }

    fn read(&mut self, key: &Key) -> StoreResult<'_> {
        if let Some(Written { value, sequence }) = self.written.get(key) {
            return match value {
                Some(value) => StoreResult::Value(value, *sequence),
                None => StoreResult::NotFound(*sequence),
            };
        }
        let Some(id) = key_id(key).filter(|id| *id < self.keys) else {
            return StoreResult::NotFound(Sequence::default());
        };
        let value = &mut self.scratch[..self.value_size.initial(id)];
        initial_value(key, value);
        StoreResult::Value(value, Sequence::default())
    }

    fn keep(&mut self, key: &Key, value: &[u8], sequence: Sequence) {
        if let Some(Written { value: Some(old), sequence: of_old }) = self.written.get_mut(key) {
            old.clear();
            old.extend_from_slice(value);
            *of_old = sequence;
        } else {
            self.written.insert(*key, Written { value: Some(value.to_vec()), sequence });
        }
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

    #[test]
    fn every_record_has_the_sequence_of_its_last_write_also_when_it_is_deleted() {
        let mut store = MemoryStore::new(2, ValueSize::Fixed(16));
        let first = Sequence { life: 3, number: 7 };
        let second = Sequence { life: 4, number: 1 };
        for key in [key_of(1), key_of(99)] {
            let get = StoreCall::get(0, key);
            let put = |sequence| StoreCall { op: StoreOp::Put, value: b"own", sequence, ..get };
            let delete = |sequence| StoreCall { op: StoreOp::Delete, sequence, ..get };
            let nobody = Sequence::default();
            assert!(matches!(
                store.execute(&get),
                StoreResult::Value(_, it) | StoreResult::NotFound(it) if it == nobody
            ));
            assert_eq!(store.execute(&put(Some(first))), StoreResult::Done);
            assert_eq!(store.execute(&get), StoreResult::Value(b"own", first));
            assert_eq!(store.execute(&delete(Some(second))), StoreResult::Done);
            assert_eq!(store.execute(&get), StoreResult::NotFound(second), "a tombstone");
            store.execute(&put(Some(first)));
            assert_eq!(store.execute(&get), StoreResult::Value(b"own", first));
            store.execute(&put(None));
            assert_eq!(store.execute(&get), StoreResult::Value(b"own", nobody));
            store.execute(&delete(Some(second)));
            assert_eq!(store.execute(&delete(None)), StoreResult::Done);
            assert_eq!(store.execute(&get), StoreResult::NotFound(nobody), "nothing is left");
        }
    }
}
