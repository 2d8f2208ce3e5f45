//! The storage of servers: the interface of a back end, and the data set that it starts with.

use netkv_roles::registry::ServerRole;
use netkv_roles::{Applied, CallId, Origin, StoreCall, StoreOp, StoreResult, initial_value};
use netkv_wire::{Key, Sequence};
use netkv_workload::{Placement, ValueSize, key_of};

pub use netkv_roles::MemoryStore;
pub use netkv_roles::records::Keying;

/// Storage calls of several servers, executed together.
#[derive(Debug, Default)]
pub struct Batch {
    calls: Vec<Call>,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Call {
    server: usize,
    id: CallId,
    op: StoreOp,
    key: Key,
    /// Offsets in `bytes`: start of the name, start of the value, end of the value.
    parts: (usize, usize, usize),
    origin: Option<Origin>,
    sequence: Option<Sequence>,
}

impl Batch {
    /// Adds a call of a server, given by its index in the node.
    pub fn push(&mut self, server: usize, call: &StoreCall<'_>) {
        let StoreCall { id, op, key, origin, sequence, .. } = *call;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(call.name);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(call.value);
        let parts = (start, middle, self.bytes.len());
        self.calls.push(Call { server, id, op, key, parts, origin, sequence });
    }

    /// The server of a call, and the call.
    pub fn get(&self, index: usize) -> (usize, StoreCall<'_>) {
        let Call { server, id, op, key, parts, origin, sequence } = self.calls[index];
        let (name, value) = (&self.bytes[parts.0..parts.1], &self.bytes[parts.1..parts.2]);
        (server, StoreCall { id, op, key, name, value, origin, sequence })
    }

    /// All calls in order.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = StoreCall<'_>> {
        (0..self.calls.len()).map(|index| self.get(index).1)
    }

    /// Number of calls.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// True if there are no calls.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Removes all calls, keeps the memory.
    pub fn clear(&mut self) {
        self.calls.clear();
        self.bytes.clear();
    }
}

/// A storage back end. One thread uses it.
pub trait Store: Send {
    /// Executes all calls, those of one key in order, and reports each result with the index of its
    /// call. The result of a write is reported after the write and its origin have become as
    /// durable as the back end makes them. [`StoreResult::Failed`] means that a write was not done
    /// and will not be. If the store cannot know whether a write was done, its result is *pending*:
    /// [`Store::resolve_pending`] reports it later.
    ///
    /// # Errors
    ///
    /// A sentence. It is then unknown which writes were done, so the node stops: it must not
    /// acknowledge a write that may not be stored.
    fn execute(
        &mut self,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> Result<(), String>;

    /// Reports the pending results that have become known: the server (its index in the node), the
    /// call, and the result.
    ///
    /// # Errors
    ///
    /// As [`Store::execute`].
    fn resolve_pending(
        &mut self,
        _done: &mut dyn FnMut(usize, CallId, StoreResult<'_>),
    ) -> Result<(), String> {
        Ok(())
    }

    /// Whether results are pending, so that [`Store::resolve_pending`] must be called repeatedly.
    fn has_pending(&self) -> bool {
        false
    }

    /// Loads the data set, unless the store has it. Records that were written since stay.
    ///
    /// # Errors
    ///
    /// A sentence, for instance if the store holds another data set.
    fn load(&mut self, data: &DataSet) -> Result<(), String>;

    /// The requests of a server (its index in the node) whose writes are in the store, including
    /// those from before a restart. Requests to other servers may be among them: a client numbers
    /// its requests to all servers in one sequence.
    fn applied(&self, server: usize) -> &Applied;
}

impl Store for MemoryStore {
    fn execute(
        &mut self,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> Result<(), String> {
        for (index, call) in batch.calls().enumerate() {
            done(index, MemoryStore::execute(self, &call));
        }
        Ok(())
    }

    fn load(&mut self, _: &DataSet) -> Result<(), String> {
        // The memory store computes the records that were not written.
        Ok(())
    }

    fn applied(&self, _: usize) -> &Applied {
        MemoryStore::applied(self)
    }
}

/// The format of records in a key-value back end. The memory store always keeps sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The value.
    Plain,
    /// The value and the sequence of its write; also tombstones (see [`crate::sequenced`]). Schemes
    /// that write back need it.
    Sequenced,
}

impl Format {
    /// The format that servers of this role need.
    pub fn of(role: &ServerRole) -> Self {
        if role.keeps_sequences { Self::Sequenced } else { Self::Plain }
    }
}

/// The records that exist before anything is written.
#[derive(Debug, Clone)]
pub struct DataSet {
    /// Records of the keyspace: numbers 0 to `keys - 1`.
    pub keys: u64,
    /// Where they are.
    pub placement: Placement,
    /// Sizes of their values.
    pub value_size: ValueSize,
    /// Servers in the rack.
    pub servers: u16,
    /// Indices of the servers whose records these are.
    pub partitions: Vec<u16>,
    /// Format of the records.
    pub format: Format,
    /// Their keys, and how these are partitioned among servers.
    pub keying: Keying,
}

/// Key of the record that describes the data set. It is written when the data set is complete.
/// Clients cannot access this key: see [`netkv_roles::is_reserved`].
const DESCRIPTION_KEY: Key = *b"netkv:data-set:1";
/// Maximum number of records in a batch while the data set is loaded.
const LOAD_BATCH: usize = 4096;

impl DataSet {
    /// Writes all records into a store, unless it has them.
    ///
    /// # Errors
    ///
    /// A sentence: the store failed, or holds another data set.
    pub fn load_into(&self, store: &mut dyn Store) -> Result<(), String> {
        let description = self.describe(self.format);
        match one(store, StoreOp::Get, DESCRIPTION_KEY, &[])? {
            Some(found) if found == description.as_bytes() => return Ok(()),
            Some(found) if found == self.describe(Format::Plain).as_bytes() => {
                return Err("The store was filled by a scheme that writes through: its records \
                            have no sequence numbers, which a scheme that writes back needs; give \
                            it an empty directory."
                    .to_owned());
            }
            Some(found) if found == self.describe(Format::Sequenced).as_bytes() => {
                return Err("The store was filled by a scheme that writes back: its records have \
                            sequence numbers, which this scheme would take for a part of the \
                            values; give it an empty directory."
                    .to_owned());
            }
            Some(found) => {
                return Err(format!(
                    "The store holds another data set ({}) than this run needs ({description}); \
                     give it an empty directory.",
                    String::from_utf8_lossy(&found)
                ));
            }
            None => {}
        }
        let mut batch = Batch::default();
        let mut value = vec![0; netkv_workload::MAX_VALUE_SIZE];
        for number in 0..self.keys {
            let id = self.placement.id(number);
            self.keying.record(id, self.servers, |name, owner| {
                if self.partitions.contains(&owner) {
                    let key = key_of(id);
                    let value = &mut value[..self.value_size.initial(id)];
                    initial_value(&key, value);
                    let call = StoreCall { name, ..StoreCall::get(0, key) };
                    batch.push(0, &StoreCall { op: StoreOp::Put, value, ..call });
                }
            });
            if batch.len() >= LOAD_BATCH {
                all(store, &batch, |_| {})?;
                batch.clear();
            }
        }
        all(store, &batch, |_| {})?;
        one(store, StoreOp::Put, DESCRIPTION_KEY, description.as_bytes()).map(drop)
    }

    /// The value of [`DESCRIPTION_KEY`]. Stores of earlier releases have it, too, so it must stay
    /// the same for plain records.
    fn describe(&self, format: Format) -> String {
        let Self { keys, value_size, partitions, servers, .. } = self;
        let sequences = match format {
            Format::Plain => "",
            Format::Sequenced => ", with sequence numbers",
        };
        let keying = match self.keying {
            Keying::Ranges => String::new(),
            Keying::Modulo(size) => format!(", keys of {size} bytes by hash modulo servers"),
        };
        let placement = match self.placement {
            Placement::Seed => "",
            Placement::Ycsb => ", placed as YCSB's",
        };
        format!(
            "{keys} keys, values of {value_size:?}, servers {partitions:?} of \
             {servers}{sequences}{keying}{placement}"
        )
    }
}

/// Executes one call; returns the value that a get has found.
fn one(
    store: &mut dyn Store,
    op: StoreOp,
    key: Key,
    value: &[u8],
) -> Result<Option<Vec<u8>>, String> {
    let mut batch = Batch::default();
    batch.push(0, &StoreCall { op, value, ..StoreCall::get(0, key) });
    let mut found = None;
    all(store, &batch, |result| {
        if let StoreResult::Value(value, _) = result {
            found = Some(value.to_vec());
        }
    })?;
    Ok(found)
}

/// Executes a batch before the servers run. A failed call is an error.
///
/// # Errors
///
/// A sentence: not every call was done.
pub(crate) fn all(
    store: &mut dyn Store,
    batch: &Batch,
    mut found: impl FnMut(StoreResult<'_>),
) -> Result<(), String> {
    let mut done = 0;
    store.execute(batch, &mut |_, result| {
        done += usize::from(result != StoreResult::Failed);
        found(result);
    })?;
    if done == batch.len() {
        return Ok(());
    }
    Err("The store became unavailable while its data set was read or loaded; start the server \
         again when the store is available."
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_roles::{WriteId, read_writer};
    use netkv_wire::partition;
    use std::collections::HashMap;

    const NO_SEQUENCE: Sequence = Sequence { incarnation: 0, number: 0 };

    #[derive(Default)]
    struct Plain {
        records: HashMap<Key, Vec<u8>>,
        largest_batch: usize,
        applied: Applied,
        /// Batches that it executes before it becomes unavailable.
        batches_left: Option<usize>,
    }

    impl Store for Plain {
        fn execute(
            &mut self,
            batch: &Batch,
            done: &mut dyn FnMut(usize, StoreResult<'_>),
        ) -> Result<(), String> {
            self.largest_batch = self.largest_batch.max(batch.len());
            if let Some(batches_left) = &mut self.batches_left {
                let Some(left) = batches_left.checked_sub(1) else {
                    (0..batch.len()).for_each(|index| done(index, StoreResult::Failed));
                    return Ok(());
                };
                *batches_left = left;
            }
            for (index, call) in batch.calls().enumerate() {
                match call.op {
                    StoreOp::Get => match self.records.get(&call.key) {
                        Some(value) => done(index, StoreResult::Value(value, NO_SEQUENCE)),
                        None => done(index, StoreResult::NotFound(NO_SEQUENCE)),
                    },
                    StoreOp::Put => {
                        self.records.insert(call.key, call.value.to_vec());
                        done(index, StoreResult::Done);
                    }
                    StoreOp::Delete => {
                        self.records.remove(&call.key);
                        done(index, StoreResult::Done);
                    }
                }
            }
            Ok(())
        }

        fn load(&mut self, data: &DataSet) -> Result<(), String> {
            data.load_into(self)
        }

        fn applied(&self, _: usize) -> &Applied {
            &self.applied
        }
    }

    fn data(keys: u64) -> DataSet {
        let value_size = ValueSize::Uniform { min: 16, max: 200 };
        let partitions = vec![0, 2];
        let (format, keying) = (Format::Plain, Keying::Ranges);
        DataSet {
            keys,
            placement: Placement::Seed,
            value_size,
            servers: 4,
            partitions,
            format,
            keying,
        }
    }

    #[test]
    fn only_the_records_of_its_servers_are_loaded_into_a_store() {
        let mut store = Plain::default();
        store.load(&data(20_000)).unwrap();
        assert!(store.largest_batch <= LOAD_BATCH);
        for id in 0..20_000 {
            let key = key_of(id);
            let own = [0, 2].contains(&partition(&key, 4));
            let writer = store.records.get(&key).map(|value| read_writer(&key, value));
            assert_eq!(writer, own.then_some(Some(WriteId::INITIAL)));
        }
    }

    #[test]
    fn stores_of_multigets_partition_names_by_hash() {
        let mut store = Plain::default();
        let modulo = |size| DataSet { keying: Keying::Modulo(size), ..data(2000) };
        let mut named = 0;
        for id in 0..2000 {
            Keying::Modulo(5).record(id, 4, |name, owner| {
                assert_eq!(name.len(), 5);
                assert_eq!(u32::from(owner), netkv_wire::crc32(name) % 4);
                named += u32::from([0, 2].contains(&owner));
            });
        }
        store.load(&modulo(5)).unwrap();
        assert_eq!(store.records.len() as u32, named + 1, "and the description");
        store.load(&modulo(5)).unwrap();
        let error = store.load(&modulo(6)).unwrap_err();
        assert!(error.contains("keys of 5 bytes") && error.contains("keys of 6 bytes"), "{error}");
        let error = store.load(&data(2000)).unwrap_err();
        assert!(error.contains("by hash modulo servers"), "{error}");
    }

    #[test]
    fn loading_again_does_not_undo_writes() {
        let mut store = Plain::default();
        store.load(&data(100)).unwrap();
        let key = *store.records.keys().find(|key| **key != DESCRIPTION_KEY).unwrap();
        store.records.insert(key, b"written".to_vec());
        store.load(&data(100)).unwrap();
        assert_eq!(store.records[&key], b"written");
    }

    #[test]
    fn loading_restarts_after_the_store_was_unavailable() {
        for batches in 0..3 {
            let mut store = Plain { batches_left: Some(batches), ..Plain::default() };
            let error = store.load(&data(20_000)).unwrap_err();
            assert!(error.contains("became unavailable"), "{error}");
            assert!(!store.records.contains_key(&DESCRIPTION_KEY));
            store.batches_left = None;
            store.load(&data(20_000)).unwrap();
            assert!(store.records.contains_key(&DESCRIPTION_KEY) && store.records.len() > 5_000);
        }
    }

    #[test]
    fn a_store_of_another_run_is_refused() {
        let mut store = Plain::default();
        store.load(&data(100)).unwrap();
        let error = store.load(&data(200)).unwrap_err();
        assert!(error.contains("100 keys") && error.contains("200 keys"), "{error}");
    }

    #[test]
    fn a_store_with_records_of_the_other_format_is_refused() {
        let sequenced = |keys| DataSet { format: Format::Sequenced, ..data(keys) };
        let mut store = Plain::default();
        store.load(&data(100)).unwrap();
        let error = store.load(&sequenced(100)).unwrap_err();
        assert!(error.contains("have no sequence numbers"), "{error}");
        let error = store.load(&sequenced(200)).unwrap_err();
        assert!(error.contains("200 keys") && error.contains("with sequence numbers"), "{error}");
        let mut store = Plain::default();
        store.load(&sequenced(100)).unwrap();
        store.load(&sequenced(100)).unwrap();
        let error = store.load(&data(100)).unwrap_err();
        assert!(error.contains("have sequence numbers"), "{error}");
    }
}
