//! Durable deduplication windows: the records in which a key-value back end keeps the numbers of
//! the requests that it has applied.
//!
//! Each block of a window (see [`Applied`]) is one record, written in the same batch as the writes
//! that it describes. So a batch writes one more small record for every 64 request numbers of a
//! client that it touches. One more record lists the clients, so that a back end need not be able
//! to list keys.

use netkv_roles::{Applied, Block, Origin, StoreCall, StoreResult};
use netkv_wire::Key;

use crate::store::{Batch, Store, all};

/// Prefix of a block's key; the sender and the index of the block follow (16 bits each).
const BLOCK: [u8; 12] = *b"netkv:seen:1";
/// Key of the list of senders that have blocks, 16 bits each.
const SENDERS: Key = *b"netkv:senders:01";

/// The requests that a store has applied, and their records.
#[derive(Debug, Default)]
pub struct AppliedRecords {
    applied: Applied,
    /// In order of their first write.
    senders: Vec<u16>,
    /// Blocks that the current batch has changed.
    changed: Vec<(u16, Block)>,
}

impl AppliedRecords {
    /// Reads the records from `store`; a store without such records has applied no requests.
    ///
    /// # Errors
    ///
    /// A sentence: the store failed, or its records are damaged.
    pub fn load(store: &mut dyn Store) -> Result<Self, String> {
        let mut loaded = Self::default();
        let mut batch = Batch::default();
        get(&mut batch, SENDERS);
        let mut list = Vec::new();
        all(store, &batch, |result| {
            if let StoreResult::Value(value, _) = result {
                list.extend_from_slice(value);
            }
        })?;
        let (senders, rest) = list.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(damaged("the list of clients"));
        }
        for sender in senders.iter().copied().map(u16::from_be_bytes) {
            batch.clear();
            (0..Applied::BLOCKS).for_each(|index| get(&mut batch, key_of_block(sender, index)));
            let mut valid = true;
            all(store, &batch, |result| {
                if let StoreResult::Value(value, _) = result {
                    match Block::from_bytes(value) {
                        Some(block) => loaded.applied.restore(sender, block),
                        None => valid = false,
                    }
                }
            })?;
            if !valid {
                return Err(damaged(&format!("what client {sender} has written")));
            }
            loaded.senders.push(sender);
        }
        Ok(loaded)
    }

    /// The requests that the store has applied.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Adds the writes of a batch. Passes each record that must be written with them to `put`.
    /// If the batch cannot be written, this value is no longer correct: load it again.
    pub fn add(&mut self, origins: impl Iterator<Item = Origin>, mut put: impl FnMut(&Key, &[u8])) {
        self.changed.clear();
        let known = self.senders.len();
        for origin in origins {
            if !self.applied.knows(origin.sender) {
                self.senders.push(origin.sender);
            }
            if let Some(block) = self.applied.add(origin) {
                self.changed.push((origin.sender, block));
            }
        }
        // Of the states of a block, only the last has all its requests.
        self.changed.sort_by_key(|(sender, block)| (*sender, Applied::index_of(*block)));
        self.changed.dedup_by(|later, earlier| {
            let same =
                later.0 == earlier.0 && Applied::index_of(later.1) == Applied::index_of(earlier.1);
            if same {
                *earlier = *later;
            }
            same
        });
        for (sender, block) in &self.changed {
            put(&key_of_block(*sender, Applied::index_of(*block)), &block.to_bytes());
        }
        if self.senders.len() > known {
            let list: Vec<u8> = self.senders.iter().flat_map(|it| it.to_be_bytes()).collect();
            put(&SENDERS, &list);
        }
    }
}

fn key_of_block(sender: u16, index: usize) -> Key {
    let mut key = [0; 16];
    key[..12].copy_from_slice(&BLOCK);
    key[12..14].copy_from_slice(&sender.to_be_bytes());
    key[14..].copy_from_slice(&(index as u16).to_be_bytes());
    key
}

fn get(batch: &mut Batch, key: Key) {
    batch.push(0, &StoreCall::get(0, key));
}

fn damaged(what: &str) -> String {
    format!(
        "The store's record of {what} is damaged, so requests could be applied twice; give it an \
         empty directory, or an undamaged one."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::DataSet;
    use netkv_roles::{StoreOp, WINDOW, is_reserved};
    use netkv_wire::Sequence;
    use netkv_workload::{Random, key_of};
    use std::collections::HashMap;

    /// A back end that loses all batches after it was killed.
    #[derive(Default)]
    struct Disk {
        records: HashMap<Key, Vec<u8>>,
        known: AppliedRecords,
        killed: bool,
    }

    impl Disk {
        /// Starts again with the records that were written.
        fn restarted(self) -> Result<Self, String> {
            let mut disk = Self { records: self.records, ..Self::default() };
            disk.known = AppliedRecords::load(&mut disk)?;
            Ok(disk)
        }

        /// Executes puts by these senders and numbers; returns how many records more it took.
        fn write(&mut self, requests: &[(u16, u32)]) -> usize {
            let mut batch = Batch::default();
            for &(sender, request) in requests {
                let origin = Some(Origin { sender, request, second: 1000 });
                let key = key_of(request.into());
                let get = StoreCall::get(0, key);
                batch.push(0, &StoreCall { op: StoreOp::Put, value: b"v", origin, ..get });
            }
            let mut records = 0;
            self.known.add(batch.calls().filter_map(|call| call.origin), |key, value| {
                records += 1;
                assert!(is_reserved(key));
                if !self.killed {
                    self.records.insert(*key, value.to_vec());
                }
            });
            records
        }
    }

    impl Store for Disk {
        fn execute(
            &mut self,
            batch: &Batch,
            done: &mut dyn FnMut(usize, StoreResult<'_>),
        ) -> Result<(), String> {
            for (index, call) in batch.calls().enumerate() {
                match self.records.get(&call.key) {
                    Some(value) => done(index, StoreResult::Value(value, Sequence::default())),
                    None => done(index, StoreResult::NotFound(Sequence::default())),
                }
            }
            Ok(())
        }

        fn load(&mut self, _: &DataSet) -> Result<(), String> {
            Ok(())
        }

        fn applied(&self, _: usize) -> &Applied {
            self.known.applied()
        }
    }

    #[test]
    fn every_restart_knows_all_writes_applied_before() {
        let mut random = Random::new(3, 3);
        let mut disk = Disk::default();
        let mut all = Applied::default();
        let mut next = u32::MAX - 3 * WINDOW;
        for restart in 0..8 {
            for batch in 0..40 {
                let request = |_| {
                    next = next.wrapping_add(1 + random.below(40) as u32);
                    (1 + random.below(3 + restart) as u16 * 777, next)
                };
                let requests: Vec<(u16, u32)> = (0..batch).map(request).collect();
                disk.killed = batch > 35;
                disk.write(&requests);
                for (sender, request) in requests.into_iter().filter(|_| !disk.killed) {
                    all.add(Origin { sender, request, second: 1000 });
                }
            }
            disk = disk.restarted().unwrap();
            assert_eq!(disk.applied(0), &all);
        }
    }

    #[test]
    fn a_batch_takes_a_record_for_each_block_it_touches() {
        let mut disk = Disk::default();
        let run: Vec<(u16, u32)> = (0..64).map(|number| (9, 640 + number)).collect();
        assert_eq!(disk.write(&run), 1 + 1);
        assert_eq!(disk.write(&[(9, 703), (9, 704), (9, 702), (9, 705)]), 2);
        assert_eq!(disk.write(&[(8, 1), (9, 706), (7, 1)]), 3 + 1);
        assert_eq!(disk.write(&[]), 0);
    }

    #[test]
    fn a_store_of_an_older_release_opens_without_such_records() {
        assert_eq!(Disk::default().restarted().unwrap().applied(0), &Applied::default());
    }

    #[test]
    fn damaged_records_are_refused_in_words() {
        for (key, what) in [(SENDERS, "list of clients"), (key_of_block(5, 10), "what client 5")] {
            let mut disk = Disk::default();
            disk.write(&[(5, 640)]);
            disk.records.get_mut(&key).unwrap().pop();
            let error = disk.restarted().err().unwrap();
            assert!(error.contains(what), "{error}");
        }
    }
}
