//! Which planes a key needs, and which values a row has in each.

use super::bytes::{self, KeyByte};
use super::row::Row;

/// Values of a byte.
pub(super) const VALUES: usize = 256;

/// Planes that a byte of a range key has beside the cover plane: rows that stay tied with the
/// key's low end, rows that fail if they are, and the same for the high end.
pub(super) const RANGE_PLANES: usize = 4;
pub(super) const LOW_TIES: usize = 0;
pub(super) const LOW_FAILS: usize = 1;
pub(super) const HIGH_TIES: usize = 2;
pub(super) const HIGH_FAILS: usize = 3;

/// The planes that keys of some widths and kinds need.
#[derive(Debug)]
pub(super) struct Shape {
    /// All bytes of the key; a byte's cover plane has the byte's index.
    pub(super) bytes: Box<[KeyByte]>,
    pub(super) ranges: Box<[RangeKey]>,
    pub(super) planes: usize,
}

/// A range key.
#[derive(Debug)]
pub(super) struct RangeKey {
    /// Its first byte and the number of its bytes.
    pub(super) first: usize,
    pub(super) count: usize,
    /// Its first plane of [`RANGE_PLANES`] per byte.
    pub(super) plane: usize,
    /// Its first word.
    word: usize,
}

/// Values of a byte that a plane has a bit for.
#[derive(Debug, Clone, Copy)]
pub(super) enum ByteSet {
    /// Those with the bits of `value` under `mask`.
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

    /// Whether it has all values.
    pub(super) fn is_all(self) -> bool {
        matches!(self, Self::Masked { mask: 0, .. } | Self::Between { from: 0, to: VALUES })
    }

    /// Calls `visit` with each of the values.
    pub(super) fn each(self, mut visit: impl FnMut(usize)) {
        match self {
            Self::Masked { value, mask } => {
                let (mut free, first) = (0u8, usize::from(value));
                loop {
                    visit(first | usize::from(free));
                    // The next larger subset of the bits that the mask leaves open.
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

impl Shape {
    /// Keys of these widths; `ranges` says which are range keys.
    pub(super) fn new(widths: &[u32], ranges: &[bool]) -> Self {
        let (mut all, mut found) = (Vec::new(), Vec::new());
        for ((word, width), range) in bytes::first_words(widths).zip(widths).zip(ranges) {
            let first = all.len();
            all.extend(bytes::field(word, *width));
            if *range {
                found.push(RangeKey { first, count: all.len() - first, plane: 0, word });
            }
        }
        let mut planes = all.len();
        for range in &mut found {
            range.plane = planes;
            // The cover plane of a single byte says it all.
            if range.count > 1 {
                planes += RANGE_PLANES * range.count;
            }
        }
        Self { bytes: all.into(), ranges: found.into(), planes }
    }

    /// The values that a row has in each plane.
    pub(super) fn sets(&self, row: &Row, mut visit: impl FnMut(usize, ByteSet)) {
        let mut next = 0;
        for (key, range) in self.ranges.iter().zip(&row.ranges) {
            self.masked(next..key.first, row, &mut visit);
            next = key.first + key.count;
            let mut tied = true;
            for i in 0..key.count {
                let byte = self.bytes[key.first + i].within(key.word);
                let (low, high) = (byte.of(&range.low), byte.of(&range.high));
                // Behind the first byte in which the ends differ, any value can be in between.
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

    /// The cover planes of bytes that are matched under a mask.
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
    fn a_byte_set_has_the_values_that_its_bounds_or_mask_allow() {
        let values = |set: ByteSet| {
            let mut values = Vec::new();
            set.each(|value| values.push(value));
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
