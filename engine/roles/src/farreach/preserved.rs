//! Preserved records: those that only the switch has, until they are durable elsewhere.
//!
//! A record is preserved when the switch has answered with it. It is released in two cases:
//!
//! 1. A snapshot has it: the list of a RELEASE has its key with a sequence that is not older.
//! 2. Its entry was evicted: three lists were completed since it was preserved, and neither of the
//!    last two has its key.
//!
//! Case 2 is safe because an entry is evicted only when its record is durable, so a snapshot point
//! after the record that finds no entry of its key proves it. Snapshot numbers prove nothing, since
//! incomplete snapshots have numbers, too. The controller takes no snapshot before all clients have
//! the list of the one before, or were given up. Of the lists completed after a record was
//! preserved, the first may be of a point before it, and the second is of a later one. The third
//! covers a first list for which the controller no longer waited.
//!
//! Preserving a record costs a lookup and a copy; memory is reused.

use std::collections::hash_map::Entry;

use netkv_wire::{Key, MAX_CACHED_VALUE, Sequence};
use rustc_hash::FxHashMap;

/// Lists that must have been completed since a record was preserved before case 2 applies.
const LISTS: u32 = 3;
/// Bytes of a record beside its value: key and sequence.
const OVERHEAD: usize = 16 + 8;

/// How much a client process preserves, and the maxima so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Preserved {
    /// Records.
    pub records: usize,
    /// Bytes of them: keys, sequences and values.
    pub bytes: usize,
    /// Most records at a time.
    pub most_records: usize,
    /// Most bytes at a time.
    pub most_bytes: usize,
}

/// A record without its value.
#[derive(Debug, Clone, Copy)]
struct Record {
    sequence: Sequence,
    /// Number of lists that had been completed when it was preserved.
    since: u32,
    /// The last list that had its key.
    listed: u32,
    /// Where its value is.
    slot: u32,
    /// Bytes of the value; none if the key is deleted.
    length: Option<u16>,
}

impl Record {
    fn bytes(&self) -> usize {
        OVERHEAD + usize::from(self.length.unwrap_or(0))
    }
}

/// A preserved record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept<'a> {
    pub(super) key: Key,
    pub(super) sequence: Sequence,
    /// None if the key is deleted.
    pub(super) value: Option<&'a [u8]>,
}

/// All records that a process preserves.
#[derive(Debug, Default)]
pub(super) struct Records {
    by_key: FxHashMap<Key, Record>,
    /// Values of the records, and of slots that are free.
    values: Vec<[u8; MAX_CACHED_VALUE]>,
    free: Vec<u32>,
    /// Number of lists that were completed.
    lists: u32,
    gauge: Preserved,
}

impl Records {
    /// Keeps a record, if it is newer than what is kept of its key. `length` is that of its value
    /// (at most [`MAX_CACHED_VALUE`]), which `fill` writes; none if the key is deleted.
    pub(super) fn keep(
        &mut self,
        key: &Key,
        sequence: Sequence,
        length: Option<u16>,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let (lists, gauge) = (self.lists, &mut self.gauge);
        let record = match self.by_key.entry(*key) {
            Entry::Occupied(entry) => {
                let record = entry.into_mut();
                if !sequence.is_newer(record.sequence) {
                    return;
                }
                gauge.bytes -= record.bytes();
                *record = Record { sequence, since: lists, length, ..*record };
                record
            }
            Entry::Vacant(entry) => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.values.push([0; MAX_CACHED_VALUE]);
                    (self.values.len() - 1) as u32
                });
                gauge.records += 1;
                gauge.most_records = gauge.most_records.max(gauge.records);
                entry.insert(Record { sequence, since: lists, listed: 0, slot, length })
            }
        };
        gauge.bytes += record.bytes();
        gauge.most_bytes = gauge.most_bytes.max(gauge.bytes);
        if let Some(length) = length {
            fill(&mut self.values[record.slot as usize][..usize::from(length)]);
        }
    }

    /// Releases records by the complete list of the next snapshot: keys with their durable
    /// sequences.
    pub(super) fn release(&mut self, list: impl Iterator<Item = (Key, Sequence)>) {
        self.lists = self.lists.wrapping_add(1);
        for (key, sequence) in list {
            let Some(record) = self.by_key.get_mut(&key) else { continue };
            record.listed = self.lists;
            if !record.sequence.is_newer(sequence) {
                self.remove(&key);
            }
        }
        let lists = self.lists;
        let Self { by_key, free, gauge, .. } = self;
        by_key.retain(|_, record| {
            let old = lists.wrapping_sub(record.since) >= LISTS;
            let unlisted = lists.wrapping_sub(record.listed) > 1;
            if old && unlisted {
                gauge.records -= 1;
                gauge.bytes -= record.bytes();
                free.push(record.slot);
            }
            !(old && unlisted)
        });
    }

    /// Releases a record up to this sequence, which is durable.
    pub(super) fn remove_up_to(&mut self, key: &Key, sequence: Sequence) {
        if self.by_key.get(key).is_some_and(|record| !record.sequence.is_newer(sequence)) {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(record) = self.by_key.remove(key) {
            self.gauge.records -= 1;
            self.gauge.bytes -= record.bytes();
            self.free.push(record.slot);
        }
    }

    /// Everything that is kept, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Kept<'_>> {
        self.by_key.iter().map(|(key, record)| {
            let value = &self.values[record.slot as usize];
            let value = record.length.map(|length| &value[..usize::from(length)]);
            Kept { key: *key, sequence: record.sequence, value }
        })
    }

    pub(super) fn gauge(&self) -> Preserved {
        self.gauge
    }

    /// Removes all records, but keeps the maxima.
    pub(super) fn clear(&mut self) {
        let Preserved { most_records, most_bytes, .. } = self.gauge;
        *self = Self::default();
        self.gauge = Preserved { most_records, most_bytes, ..Preserved::default() };
    }
}
