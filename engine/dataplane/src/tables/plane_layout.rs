//! The layout of the bit planes for the keys of a table, and the bits of a row in each plane.

use super::key_bytes::{self, KeyByte};
use super::row::Row;

/// Number of values of a byte.
pub(super) const VALUES: usize = 256;

/// Number of planes of a range key's byte, in addition to the cover plane. See `bit_planes`.
pub(super) const RANGE_PLANES: usize = 4;
pub(super) const LOW_TIES: usize = 0;
pub(super) const LOW_FAILS: usize = 1;
pub(super) const HIGH_TIES: usize = 2;
pub(super) const HIGH_FAILS: usize = 3;

/// The bit planes for the keys of a table.
#[derive(Debug)]
pub(super) struct PlaneLayout {
    /// All bytes of the key. The cover plane of a byte has the index of the byte.
    pub(super) bytes: Box<[KeyByte]>,
    pub(super) ranges: Box<[RangeKey]>,
    pub(super) planes: usize,
}

/// The bytes and planes of a range key.
#[derive(Debug)]
pub(super) struct RangeKey {
    /// Index of the first byte, and number of bytes.
    pub(super) first: usize,
    pub(super) count: usize,
    /// First plane; there are [`RANGE_PLANES`] per byte.
    pub(super) plane: usize,
    /// First word of the key field.
    word: usize,
}

/// The values of a byte for which a plane has the bit of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum ByteSet {
    /// All values that equal `value` under `mask`.
    Masked { value: u8, mask: u8 },
    /// `from..to`.
    Between { from: usize, to: usize },
}

impl ByteSet {
    const ALL: Self = Self::Masked { value: 0, mask: 0 };

    /// `low..=high`.
    fn inclusive(low: u8, high: u8) -> Self {
        Self::Between { from: low.into(), to: usize::from(high) + 1 }
    }

    /// True if the set contains all values.
    pub(super) fn is_all(self) -> bool {
        matches!(self, Self::Masked { mask: 0, .. } | Self::Between { from: 0, to: VALUES })
    }

    /// Calls `visit` for each value.
    pub(super) fn for_each(self, mut visit: impl FnMut(usize)) {
        match self {
            Self::Masked { value, mask } => {
                let (mut free, first) = (0u8, usize::from(value));
                loop {
                    visit(first | usize::from(free));
                    // The next larger subset of the bits outside of the mask.
                    free = (free | mask).wrapping_add(1) & !mask;
                    if free == 0 {
                        return;
                    }
                }
            }
            Self::Between { from, to } => (from..to).for_each(visit),
        }
    }
}

impl PlaneLayout {
    /// The layout for keys of these widths. `ranges` is true for range keys.
    pub(super) fn new(widths: &[u32], ranges: &[bool]) -> Self {
        let (mut all, mut found) = (Vec::new(), Vec::new());
        for ((word, width), range) in key_bytes::first_words(widths).zip(widths).zip(ranges) {
            let first = all.len();
            all.extend(key_bytes::field(word, *width));
            if *range {
                found.push(RangeKey { first, count: all.len() - first, plane: 0, word });
            }
        }
        let mut planes = all.len();
        for range in &mut found {
            range.plane = planes;
            // For a single byte, the cover plane is sufficient.
            if range.count > 1 {
                planes += RANGE_PLANES * range.count;
            }
        }
        Self { bytes: all.into(), ranges: found.into(), planes }
    }

    /// Calls `visit` for each plane with the values for which the row has its bit set.
    pub(super) fn sets(&self, row: &Row, mut visit: impl FnMut(usize, ByteSet)) {
        let mut next = 0;
        for (key, range) in self.ranges.iter().zip(&row.ranges) {
            self.masked(next..key.first, row, &mut visit);
            next = key.first + key.count;
            let mut tied = true;
            for i in 0..key.count {
                let byte = self.bytes[key.first + i].within(key.word);
                let (low, high) = (byte.of(&range.low), byte.of(&range.high));
                // After the first byte in which the ends differ, any value may be in the range.
                let cover = if tied { ByteSet::inclusive(low, high) } else { ByteSet::ALL };
                tied &= low == high;
                visit(key.first + i, cover);
                if key.count > 1 {
                    let plane = key.plane + RANGE_PLANES * i;
                    let over = usize::from(high) + 1;
                    visit(plane + LOW_TIES, ByteSet::inclusive(low, low));
                    visit(plane + LOW_FAILS, ByteSet::Between { from: 0, to: low.into() });
                    visit(plane + HIGH_TIES, ByteSet::inclusive(high, high));
                    visit(plane + HIGH_FAILS, ByteSet::Between { from: over, to: VALUES });
                }
            }
        }
        self.masked(next..self.bytes.len(), row, &mut visit);
    }

    /// Same for the cover planes of bytes that are matched under a mask.
    fn masked(
        &self,
        bytes: std::ops::Range<usize>,
        row: &Row,
        visit: &mut impl FnMut(usize, ByteSet),
    ) {
        for (plane, byte) in bytes.clone().zip(&self.bytes[bytes]) {
            visit(plane, ByteSet::Masked { value: byte.of(&row.value), mask: byte.of(&row.mask) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_set_has_the_values_of_its_bounds_or_mask() {
        let values = |set: ByteSet| {
            let mut values = Vec::new();
            set.for_each(|value| values.push(value));
            values
        };
        assert_eq!(values(ByteSet::Masked { value: 0x21, mask: 0xf5 }), [0x21, 0x23, 0x29, 0x2b]);
        assert_eq!(values(ByteSet::Masked { value: 7, mask: 0xff }), [7]);
        assert_eq!(values(ByteSet::ALL), (0..256).collect::<Vec<_>>());
        assert_eq!(values(ByteSet::inclusive(254, 255)), [254, 255]);
        assert_eq!(values(ByteSet::Between { from: 256, to: 256 }), []);
        assert!(ByteSet::ALL.is_all() && ByteSet::inclusive(0, 255).is_all());
        assert!(!ByteSet::inclusive(0, 254).is_all());
    }
}
