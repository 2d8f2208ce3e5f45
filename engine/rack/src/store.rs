//! Where a server keeps its records.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;

type Key = [u8; 16];

/// One storage call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Reads a record.
    Get(Key),
    /// Writes a record.
    Put(Key, Vec<u8>),
    /// Removes a record.
    Delete(Key),
}

/// A storage back end. One thread uses it.
pub trait Store: Send {
    /// Does a batch in order and appends one result for each operation to `results`: the value of
    /// a get, something (empty) for a put, and for a delete something or, if there was nothing,
    /// `None`. What was written is as durable as it will be when this returns.
    ///
    /// # Errors
    ///
    /// A sentence that says what failed. The node stops then: no reply leaves for a write that may
    /// not be stored.
    fn execute(
        &mut self,
        batch: &[Operation],
        results: &mut Vec<Option<Vec<u8>>>,
    ) -> Result<(), String>;
}

/// Records in memory; they are gone with the process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: HashMap<Key, Vec<u8>, RandomState>,
}

impl Store for MemoryStore {
    fn execute(
        &mut self,
        batch: &[Operation],
        results: &mut Vec<Option<Vec<u8>>>,
    ) -> Result<(), String> {
        for operation in batch {
            results.push(match operation {
                Operation::Get(key) => self.records.get(key).cloned(),
                Operation::Put(key, value) => {
                    self.records.insert(*key, value.clone());
                    Some(Vec::new())
                }
                Operation::Delete(key) => self.records.remove(key).map(|_| Vec::new()),
            });
        }
        Ok(())
    }
}
