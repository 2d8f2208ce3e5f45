//! The entries of the cache: generation, validity, and the record.

use std::hint::black_box;

use netkv_wire::{CHUNK, Key, MAX_CACHED_VALUE, Sequence, padded};

use super::message::Record;
use crate::handwritten::{Counts, GROUP, Table, count, current};

pub(super) const ENTRIES: u32 = 32_768;
/// Names of the value arrays in the program.
const ARRAYS: [&str; 8] = [
    "NetkvEgress.entry.values.array0.cells",
    "NetkvEgress.entry.values.array1.cells",
    "NetkvEgress.entry.values.array2.cells",
    "NetkvEgress.entry.values.array3.cells",
    "NetkvEgress.entry.values.array4.cells",
    "NetkvEgress.entry.values.array5.cells",
    "NetkvEgress.entry.values.array6.cells",
    "NetkvEgress.entry.values.array7.cells",
];
/// The bits of an incarnation that an entry stores.
const INCARNATION_BITS: u16 = 0x1fff;

/// Whether a sequence number is of a later write than another: serial numbers, which wrap. 0 is
/// older than all.
#[inline]
pub(super) fn is_newer(a: u32, b: u32) -> bool {
    a != 0 && (b == 0 || netkv_wire::is_newer(a, b))
}

/// Whether a sequence is of a later write than another. One with number 0 is of no write.
#[inline]
pub(super) fn is_later(a: Sequence, b: Sequence) -> bool {
    a.number != 0
        && (b.number == 0
            || is_newer(a.incarnation, b.incarnation)
            || a.incarnation == b.incarnation && is_newer(a.number, b.number))
}

/// The lookup entry of a key.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Cached {
    pub entry: u16,
    pub generation: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Validity {
    #[default]
    Invalid = 0,
    Valid = 1,
    ToBeEvicted = 3,
}

/// The record of an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stored {
    /// No later write of the key is known.
    pub is_latest: bool,
    /// The server has not received the record from the switch.
    pub is_dirty: bool,
    pub is_deleted: bool,
    /// The lowest bits of the incarnation.
    incarnation: u16,
    /// Bytes of the value.
    pub length: u16,
    pub sequence: u32,
}

impl Stored {
    /// The incarnation and sequence number of the record, in the current incarnation.
    #[inline]
    pub(super) fn sequence(&self, current: u32) -> Sequence {
        if self.sequence == 0 {
            return Sequence::default(); // of an earlier incarnation: older than all
        }
        let age = (current as u16).wrapping_sub(self.incarnation) & INCARNATION_BITS;
        Sequence { incarnation: current.wrapping_sub(age.into()), number: self.sequence }
    }

    /// Bytes of the value in whole chunks.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        padded(self.length.into())
    }
}

/// The value of an entry: all arrays side by side.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Value([u8; MAX_CACHED_VALUE]);

/// An entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    pub generation: u32,
    pub validity: Validity,
    pub is_retired: bool,
    /// The latest sequence of any write of the key that the entry knows of.
    pub max_sequence: Sequence,
    /// The last snapshot for which the entry reported its original record.
    pub reported_snapshot: u32,
    pub stored: Stored,
    /// Sampled requests: epoch and count.
    frequency: u32,
}

impl Entry {
    /// The validity for messages about this generation; none for another generation.
    #[inline]
    pub(super) fn validity_of(&self, generation: u32) -> Option<Validity> {
        (self.generation == generation && generation != 0).then_some(self.validity)
    }

    #[inline]
    pub(super) fn count(&mut self, epoch: u16) {
        count(&mut self.frequency, epoch);
    }

    pub(super) fn counted(&self, epoch: u16) -> u16 {
        current(self.frequency, epoch)
    }

    pub(super) fn reset_count(&mut self) {
        self.frequency = 0;
    }

    /// A later write is known. The record stays dirty if no reply has shown that the server has a
    /// later one.
    #[inline]
    pub(super) fn outdate(&mut self, stays_dirty: bool) {
        self.stored.is_latest = false;
        self.stored.is_dirty &= stays_dirty;
    }
}

/// The lookup table, the entries and their values.
pub(super) struct Entries {
    lookup: Table<16, Cached>,
    entries: Box<[Entry]>,
    values: Box<[Value]>,
}

impl Entries {
    pub(super) fn new() -> Self {
        Self {
            lookup: Table::new(ENTRIES),
            entries: vec![Entry::default(); ENTRIES as usize].into(),
            values: vec![Value([0; MAX_CACHED_VALUE]); ENTRIES as usize].into(),
        }
    }

    /// Writes the lookup entry of a key.
    pub(super) fn insert(&mut self, key: Key, cached: Cached) {
        self.lookup.insert(key, cached);
    }

    /// The lookup entries of several keys. Their state and values are loaded into the processor's
    /// caches.
    #[inline]
    pub(super) fn lookup(&self, keys: &[Option<Key>; GROUP]) -> [Option<Cached>; GROUP] {
        let all = self.lookup.get_group(keys);
        let mut loaded = 0;
        for cached in all.iter().flatten() {
            let Value(value) = &self.values[usize::from(cached.entry)];
            loaded ^= value[0] ^ value[MAX_CACHED_VALUE / 2];
            loaded ^= self.entry(cached.entry).validity as u8;
        }
        black_box(loaded);
        all
    }

    #[inline]
    pub(super) fn entry(&self, number: u16) -> &Entry {
        &self.entries[usize::from(number)]
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, number: u16) -> &mut Entry {
        &mut self.entries[usize::from(number)]
    }

    /// Stores a record. `sequence` has its incarnation, and the number in the switch.
    #[inline]
    pub(super) fn store(
        &mut self,
        number: u16,
        record: Record,
        sequence: Sequence,
        (is_latest, is_dirty): (bool, bool),
        value: &[u8],
    ) {
        self.entry_mut(number).stored = Stored {
            is_latest,
            is_dirty,
            is_deleted: record.is_deleted,
            incarnation: sequence.incarnation as u16 & INCARNATION_BITS,
            length: record.length,
            sequence: sequence.number,
        };
        self.values[usize::from(number)].0[..value.len()].copy_from_slice(value);
    }

    /// The stored value, of this many bytes.
    #[inline]
    pub(super) fn value(&self, number: u16, bytes: usize) -> &[u8] {
        &self.values[usize::from(number)].0[..bytes]
    }

    /// The state of all entries.
    pub(super) fn counts(&self) -> Counts {
        let of_entries = |field: fn(&Entry) -> u64| self.entries.iter().map(field).collect();
        let mut counts: Counts = vec![
            ("NetkvEgress.entry_state.cells", of_entries(state_cell)),
            ("NetkvEgress.frequency.cells", of_entries(|entry| entry.frequency.into())),
            (
                "NetkvEgress.entry.max_sequence.cells",
                of_entries(|it| sequence_cell(it.max_sequence)),
            ),
            (
                "NetkvEgress.entry.reported_snapshot.cells",
                of_entries(|entry| entry.reported_snapshot.into()),
            ),
            ("NetkvEgress.entry.entry_flags.cells", of_entries(flags_cell)),
            ("NetkvEgress.entry.record_sequence.cells", of_entries(|it| it.stored.sequence.into())),
        ];
        let low_half = |Value(value): &Value, array: usize| {
            let half = value[array * CHUNK..][..CHUNK].last_chunk::<8>();
            half.map_or(0, |half| u64::from_be_bytes(*half))
        };
        for (array, name) in ARRAYS.into_iter().enumerate() {
            counts.push((name, self.values.iter().map(|value| low_half(value, array)).collect()));
        }
        counts
    }
}

/// Incarnation (32), number (32).
fn sequence_cell(sequence: Sequence) -> u64 {
    u64::from(sequence.incarnation) << 32 | u64::from(sequence.number)
}

/// Generation (32), validity (8), retired (1), 0 (23).
fn state_cell(entry: &Entry) -> u64 {
    u64::from(entry.generation) << 32
        | (entry.validity as u64) << 24
        | u64::from(entry.is_retired) << 23
}

/// Latest, dirty, deleted, incarnation (13), length (16).
fn flags_cell(entry: &Entry) -> u64 {
    let Stored { is_latest, is_dirty, is_deleted, incarnation, length, .. } = entry.stored;
    u64::from(is_latest) << 31
        | u64::from(is_dirty) << 30
        | u64::from(is_deleted) << 29
        | u64::from(incarnation) << 16
        | u64::from(length)
}
