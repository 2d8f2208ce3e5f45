//! A store in memory that holds only what has been written.

use netkv_checker::WriteId;
use netkv_wire::{Key, Sequence};
use netkv_workload::{KeyTable, MAX_VALUE_SIZE, ValueSize, key_id, record_number};
use rustc_hash::FxHashMap;

use crate::{Applied, StoreCall, StoreOp, StoreResult};
use crate::{fill_value, initial_value, read_writer};

/// Keys and values in memory. Unwritten keys of the keyspace have their initial value, which is
/// generated when it is read, so that 100 million keys take no memory and no loading.
///
/// The value of a load generator follows from its key, writer and length (see [`fill_value`]). The
/// store keeps only these, 24 bytes a key, and generates the value again when it is read. Any other
/// value, even one that differs in a single byte, is kept verbatim.
#[derive(Debug)]
pub struct MemoryStore {
    keys: u64,
    value_size: ValueSize,
    written: KeyTable<Written>,
    /// Values that do not follow from their writer, verbatim.
    values: FxHashMap<Key, Vec<u8>>,
    applied: Applied,
    scratch: Box<[u8; MAX_VALUE_SIZE]>,
}

/// The last write or delete of a key.
#[derive(Debug, Clone, Copy)]
struct Written {
    /// Its sequence; all 0 without one.
    sequence: Sequence,
    /// The writer of the value, unless `length` is one of the constants below.
    request: u32,
    client: u16,
    /// Bytes of the value, or one of the constants below.
    length: u16,
}

/// In place of a length: the key is deleted.
const DELETED: u16 = u16::MAX;
/// In place of a length: the value is in [`MemoryStore::values`].
const VERBATIM: u16 = u16::MAX - 1;
const _: () = assert!(MAX_VALUE_SIZE < VERBATIM as usize);
const _: () = assert!(size_of::<Written>() == 16);

impl MemoryStore {
    /// A store for the keyspace of ids 0 to `keys - 1`.
    pub fn new(keys: u64, value_size: ValueSize) -> Self {
        Self {
            keys,
            value_size,
            written: KeyTable::default(),
            values: FxHashMap::default(),
            applied: Applied::default(),
            scratch: Box::new([0; MAX_VALUE_SIZE]),
        }
    }

    /// Carries out one call.
    pub fn execute(&mut self, call: &StoreCall<'_>) -> StoreResult<'_> {
        if let Some(origin) = call.origin {
            self.applied.add(origin);
        }
        let sequence = call.sequence.unwrap_or_default();
        match call.op {
            StoreOp::Get => self.read(&call.key),
            StoreOp::Put => {
                self.keep(&call.key, Some(call.value), sequence);
                StoreResult::Done
            }
            StoreOp::Delete => {
                self.keep(&call.key, None, sequence);
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
        self.keep(key, Some(value), Sequence::default());
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &Key) {
        self.keep(key, None, Sequence::default());
    }

    fn read(&mut self, key: &Key) -> StoreResult<'_> {
        if let Some(&Written { sequence, request, client, length }) = self.written.get(key) {
            return match length {
                DELETED => StoreResult::NotFound(sequence),
                VERBATIM => StoreResult::Value(&self.values[key], sequence),
                _ => {
                    let value = &mut self.scratch[..length.into()];
                    fill_value(key, WriteId { client, request }, value);
                    StoreResult::Value(value, sequence)
                }
            };
        }
        let Some(id) = key_id(key).filter(|id| record_number(*id) < self.keys) else {
            return StoreResult::NotFound(Sequence::default());
        };
        let value = &mut self.scratch[..self.value_size.initial(id)];
        initial_value(key, value);
        StoreResult::Value(value, Sequence::default())
    }

    /// Stores a value, or that the key is deleted.
    fn keep(&mut self, key: &Key, value: Option<&[u8]>, sequence: Sequence) {
        let (writer, length) = match value {
            None => (WriteId::INITIAL, DELETED),
            Some(value) => {
                match read_writer(key, value).filter(|_| value.len() <= MAX_VALUE_SIZE) {
                    Some(writer) => (writer, value.len() as u16),
                    None => (WriteId::INITIAL, VERBATIM),
                }
            }
        };
        let WriteId { client, request } = writer;
        let before = self.written.insert(*key, Written { sequence, request, client, length });
        match value.filter(|_| length == VERBATIM) {
            Some(value) => {
                let kept = self.values.entry(*key).or_default();
                kept.clear();
                kept.extend_from_slice(value);
            }
            None if before.is_some_and(|before| before.length == VERBATIM) => {
                self.values.remove(key);
            }
            None => {}
        }
    }

    /// The requests whose writes are in this store, for a server that starts over it.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Whether a key has been written or deleted.
    #[inline]
    pub fn has_written(&self, key: &Key) -> bool {
        self.written.get(key).is_some()
    }

    /// Number of keys that have been written or deleted.
    pub fn written(&self) -> usize {
        self.written.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::key_of;

    #[test]
    fn unwritten_keys_have_initial_values_deleted_ones_none() {
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
    fn every_record_has_the_sequence_of_its_last_write() {
        let mut store = MemoryStore::new(2, ValueSize::Fixed(16));
        let first = Sequence { incarnation: 3, number: 7 };
        let second = Sequence { incarnation: 4, number: 1 };
        for key in [key_of(1), key_of(99)] {
            let get = StoreCall::get(0, key);
            let put = |sequence| StoreCall { op: StoreOp::Put, value: b"own", sequence, ..get };
            let delete = |sequence| StoreCall { op: StoreOp::Delete, sequence, ..get };
            let no_sequence = Sequence::default();
            assert!(matches!(
                store.execute(&get),
                StoreResult::Value(_, it) | StoreResult::NotFound(it) if it == no_sequence
            ));
            assert_eq!(store.execute(&put(Some(first))), StoreResult::Done);
            assert_eq!(store.execute(&get), StoreResult::Value(b"own", first));
            assert_eq!(store.execute(&delete(Some(second))), StoreResult::Done);
            assert_eq!(store.execute(&get), StoreResult::NotFound(second), "a tombstone");
            store.execute(&put(Some(first)));
            assert_eq!(store.execute(&get), StoreResult::Value(b"own", first));
            store.execute(&put(None));
            assert_eq!(store.execute(&get), StoreResult::Value(b"own", no_sequence));
            store.execute(&delete(Some(second)));
            assert_eq!(store.execute(&delete(None)), StoreResult::Done);
            assert_eq!(store.execute(&get), StoreResult::NotFound(no_sequence), "nothing is left");
        }
    }

    #[test]
    fn every_value_is_read_back_byte_for_byte() {
        let mut store = MemoryStore::new(10, ValueSize::Fixed(16));
        let mut model = std::collections::HashMap::new();
        let mut random = netkv_workload::Random::new(5, 0);
        for request in 0..20_000 {
            let mut key = key_of(random.below(20));
            key[0] ^= u8::from(random.below(5) == 0);
            let mut value = vec![0; 16 + random.below(1009) as usize];
            fill_value(&key, WriteId { client: 3, request }, &mut value);
            match random.below(6) {
                // One bit is wrong, or the value is cut and so names no writer.
                0 => {
                    let at = random.below(value.len() as u64) as usize;
                    value[at] ^= 1 << random.below(8);
                }
                1 => value.truncate(random.below(17) as usize),
                _ => {}
            }
            if random.below(8) == 0 {
                store.delete(&key);
                model.insert(key, None);
            } else {
                store.put(&key, &value);
                model.insert(key, Some(value));
            }
            let key = key_of(random.below(10));
            if let Some(expected) = model.get(&key) {
                assert_eq!(store.get(&key), expected.as_deref());
            }
            assert_eq!(store.written(), model.len());
        }
        for (key, expected) in &model {
            assert_eq!(store.get(key), expected.as_deref());
        }
        let verbatim = model.iter().filter(|(key, value)| {
            value.as_ref().is_some_and(|value| read_writer(key, value).is_none())
        });
        assert_eq!(store.values.len(), verbatim.count(), "the others take no memory for values");
    }
}
