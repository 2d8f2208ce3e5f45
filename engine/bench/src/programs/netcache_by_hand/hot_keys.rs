//! Hot keys among the sampled reads of uncached keys: a Count-Min sketch estimates the reads, a
//! Bloom filter remembers the reported keys.

use netkv_dataplane::MAX_QUEUED_DIGESTS;
use netkv_wire::Key;

use crate::handwritten::{CountMin, Counts, key_hashes};

/// Cells of a row of the Bloom filter.
const FILTER_CELLS: usize = 1 << 18;
/// Names of the rows in the program.
const SKETCH_ROWS: [&str; 4] = [
    "NetkvIngress.hot_keys.sketch0.cells",
    "NetkvIngress.hot_keys.sketch1.cells",
    "NetkvIngress.hot_keys.sketch2.cells",
    "NetkvIngress.hot_keys.sketch3.cells",
];
const FILTER_ROWS: [&str; 3] = [
    "NetkvIngress.hot_keys.filter0.cells",
    "NetkvIngress.hot_keys.filter1.cells",
    "NetkvIngress.hot_keys.filter2.cells",
];

/// A report to the control plane.
#[derive(Debug, Clone, Copy)]
struct HotKey {
    key: Key,
    count: u16,
    epoch: u16,
}

pub(super) struct HotKeys {
    sketch: CountMin,
    /// The epoch of the last report.
    filter: [Box<[u16]>; 3],
    /// A key is hot from this estimate on.
    threshold: u16,
    /// Reports that the control plane has not taken yet.
    reports: Vec<HotKey>,
}

impl HotKeys {
    pub(super) fn new(threshold: u16) -> Self {
        Self {
            sketch: CountMin::new(),
            filter: std::array::from_fn(|_| vec![0; FILTER_CELLS].into()),
            threshold,
            reports: Vec::new(),
        }
    }

    /// Counts a read of an uncached key, and reports the key once an epoch if it is hot. `hash` is
    /// the CRC-32 of the key.
    #[inline]
    pub(super) fn count(&mut self, key: &Key, hash: u32, epoch: u16) {
        let hashes = key_hashes(key, hash);
        let count = self.sketch.count(hashes, epoch);
        if count >= self.threshold && self.is_unreported(hashes, epoch) {
            // As in the switch, a full queue drops reports.
            if self.reports.len() < MAX_QUEUED_DIGESTS {
                self.reports.push(HotKey { key: *key, count, epoch });
            }
        }
    }

    /// Whether a key was not reported in this epoch. It counts as reported from now on.
    fn is_unreported(&mut self, (straight, swapped): (u32, u32), epoch: u16) -> bool {
        let mut is_new = false;
        let indices = [straight, straight >> 14, swapped];
        for (row, index) in self.filter.iter_mut().zip(indices) {
            let cell = &mut row[index as usize % FILTER_CELLS];
            is_new |= *cell != epoch;
            *cell = epoch;
        }
        is_new
    }

    /// The members of all reports, which are removed.
    pub(super) fn take_reports(&mut self) -> Vec<Vec<u128>> {
        let members = |HotKey { key, count, epoch }: HotKey| {
            vec![u128::from_be_bytes(key), count.into(), epoch.into()]
        };
        self.reports.drain(..).map(members).collect()
    }

    /// The cells of sketch and filter.
    pub(super) fn counts(&self) -> Counts {
        let sketch = SKETCH_ROWS.into_iter().enumerate().map(|(row, name)| {
            (name, self.sketch.row(row).iter().map(|cell| u64::from(*cell)).collect())
        });
        let filter = FILTER_ROWS
            .into_iter()
            .zip(&self.filter)
            .map(|(name, row)| (name, row.iter().map(|cell| u64::from(*cell)).collect()));
        sketch.chain(filter).collect()
    }
}
