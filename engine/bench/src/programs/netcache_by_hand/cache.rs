//! The entries of the cache.

use std::hint::black_box;

use netkv_wire::{CHUNK, CacheMetadata, Key, MAX_CACHED_VALUE};

use crate::handwritten::{Counts, GROUP, Table, count, current};

const ENTRIES: u32 = 65_536;
const ROWS: usize = 65_536;
/// Names of the value arrays in the program.
const ARRAYS: [&str; 8] = [
    "NetkvIngress.values.array0.cells",
    "NetkvIngress.values.array1.cells",
    "NetkvIngress.values.array2.cells",
    "NetkvIngress.values.array3.cells",
    "NetkvIngress.values.array4.cells",
    "NetkvIngress.values.array5.cells",
    "NetkvIngress.values.array6.cells",
    "NetkvIngress.values.array7.cells",
];

/// The lookup entry of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cached {
    pub entry: u16,
    pub row: u16,
    /// The chunks of the row that belong to the entry.
    pub bitmap: u8,
    pub generation: u32,
}

/// The state of an entry.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Number of writes that have passed.
    version: u32,
    /// The generation for which the entry is valid.
    valid: u32,
    /// Sampled reads: epoch and count.
    hits: u32,
    /// Bytes of the value.
    length: u16,
}

/// The value arrays side by side: one chunk of each.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Row([u8; MAX_CACHED_VALUE]);

/// The lookup table, the entries and their values.
pub(super) struct Cache {
    lookup: Table<16, Cached>,
    entries: Box<[Entry]>,
    rows: Box<[Row]>,
}

/// The places in a row of the chunks of a bitmap.
fn chunks(bitmap: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |bit| bitmap >> bit & 1 == 1).map(|bit| bit * CHUNK)
}

impl Cache {
    pub(super) fn new() -> Self {
        Self {
            lookup: Table::new(ENTRIES),
            entries: vec![Entry::default(); ENTRIES as usize].into(),
            rows: vec![Row([0; MAX_CACHED_VALUE]); ROWS].into(),
        }
    }

    /// Writes the lookup entry of a key.
    pub(super) fn insert(&mut self, key: Key, cached: Cached) {
        self.lookup.insert(key, cached);
    }

    /// The lookup entries of several keys. Their state, and the values if they are read, are loaded
    /// into the processor's caches.
    #[inline]
    pub(super) fn lookup(
        &self,
        keys: &[Option<Key>; GROUP],
        reads_value: [bool; GROUP],
    ) -> [Option<Cached>; GROUP] {
        let all = self.lookup.get_group(keys);
        let mut loaded = 0;
        for (cached, reads_value) in all.iter().zip(reads_value) {
            let Some(cached) = cached else { continue };
            loaded ^= self.entries[usize::from(cached.entry)].valid as u8;
            if reads_value {
                let Row(row) = &self.rows[usize::from(cached.row)];
                loaded ^= row[0] ^ row[MAX_CACHED_VALUE / 2];
            }
        }
        black_box(loaded);
        all
    }

    #[inline]
    fn entry(&mut self, cached: Cached) -> &mut Entry {
        &mut self.entries[usize::from(cached.entry)]
    }

    #[inline]
    pub(super) fn count_hit(&mut self, cached: Cached, epoch: u16) {
        count(&mut self.entry(cached).hits, epoch);
    }

    /// The sampled reads of the entry in this epoch.
    pub(super) fn hits(&self, cached: Cached, epoch: u16) -> u16 {
        current(self.entries[usize::from(cached.entry)].hits, epoch)
    }

    /// The metadata that a request for the entry takes to the server.
    #[inline]
    pub(super) fn metadata(&self, cached: Cached) -> CacheMetadata {
        let Cached { entry, bitmap, generation, .. } = cached;
        CacheMetadata { generation, version: self.entries[usize::from(entry)].version, bitmap }
    }

    /// A write passes: the entry gets a new version and becomes invalid.
    #[inline]
    pub(super) fn invalidate(&mut self, cached: Cached) -> CacheMetadata {
        let entry = self.entry(cached);
        entry.version = entry.version.wrapping_add(1);
        entry.valid = 0;
        self.metadata(cached)
    }

    /// Stores a value and makes the entry valid.
    pub(super) fn update(&mut self, cached: Cached, length: u16, value: &[u8]) {
        let entry = self.entry(cached);
        entry.valid = cached.generation;
        entry.length = length;
        let Row(row) = &mut self.rows[usize::from(cached.row)];
        for (at, chunk) in chunks(cached.bitmap).zip(value.chunks_exact(CHUNK)) {
            row[at..at + CHUNK].copy_from_slice(chunk);
        }
    }

    /// Bytes of the value of a valid entry.
    #[inline]
    pub(super) fn valid_length(&self, cached: Cached) -> Option<u16> {
        let entry = &self.entries[usize::from(cached.entry)];
        (entry.valid == cached.generation).then_some(entry.length)
    }

    /// Copies the chunks of the entry.
    #[inline]
    pub(super) fn read_value(&self, cached: Cached, to: &mut [u8]) {
        let Row(row) = &self.rows[usize::from(cached.row)];
        if cached.bitmap & cached.bitmap.wrapping_add(1) == 0 {
            to.copy_from_slice(&row[..to.len()]); // the first chunks of the row
            return;
        }
        for (at, chunk) in chunks(cached.bitmap).zip(to.chunks_exact_mut(CHUNK)) {
            chunk.copy_from_slice(&row[at..at + CHUNK]);
        }
    }

    /// The state of all entries and rows.
    pub(super) fn counts(&self) -> Counts {
        let of_entries = |field: fn(&Entry) -> u64| self.entries.iter().map(field).collect();
        let mut counts: Counts = vec![
            ("NetkvIngress.hits.counts", of_entries(|entry| entry.hits.into())),
            ("NetkvIngress.validity.version", of_entries(|entry| entry.version.into())),
            ("NetkvIngress.validity.valid", of_entries(|entry| entry.valid.into())),
            ("NetkvIngress.values.length", of_entries(|entry| entry.length.into())),
        ];
        let low_half = |Row(row): &Row, array: usize| {
            let half = row[array * CHUNK..][..CHUNK].last_chunk::<8>();
            half.map_or(0, |half| u64::from_be_bytes(*half))
        };
        for (array, name) in ARRAYS.into_iter().enumerate() {
            counts.push((name, self.rows.iter().map(|row| low_half(row, array)).collect()));
        }
        counts
    }
}
