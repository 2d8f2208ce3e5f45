//! Counting in cells of 32 bits: epoch (16) and count (16). In another epoch a cell counts from 0
//! again.

use netkv_wire::{Key, crc32};

const CELLS: usize = 65_536;

/// The count in a cell, in this epoch.
#[inline]
pub(crate) fn current(cell: u32, epoch: u16) -> u16 {
    if cell >> 16 == u32::from(epoch) { cell as u16 } else { 0 }
}

/// Counts in a cell. Returns the new count.
#[inline]
pub(crate) fn count(cell: &mut u32, epoch: u16) -> u16 {
    let count = current(*cell, epoch).saturating_add(1);
    *cell = u32::from(epoch) << 16 | u32::from(count);
    count
}

/// The CRC-32 of a key, which is known, and that of the key with its halves swapped.
#[inline]
pub(crate) fn key_hashes(key: &Key, hash: u32) -> (u32, u32) {
    (hash, crc32(&u128::from_be_bytes(*key).rotate_left(64).to_be_bytes()))
}

/// A Count-Min sketch of four rows.
pub(crate) struct CountMin {
    rows: [Box<[u32]>; 4],
}

impl CountMin {
    pub(crate) fn new() -> Self {
        Self { rows: std::array::from_fn(|_| vec![0; CELLS].into()) }
    }

    /// Counts the key with these hashes. Returns the estimate of its count.
    #[inline]
    pub(crate) fn count(&mut self, (straight, swapped): (u32, u32), epoch: u16) -> u16 {
        let halves = |hash: u32| [hash as u16, (hash >> 16) as u16];
        let indices = [halves(straight), halves(swapped)];
        let cells = self.rows.iter_mut().zip(indices.as_flattened());
        let counts = cells.map(|(row, index)| count(&mut row[usize::from(*index)], epoch));
        counts.min().unwrap_or(u16::MAX)
    }

    /// The cells of a row.
    pub(crate) fn row(&self, row: usize) -> &[u32] {
        &self.rows[row]
    }
}
