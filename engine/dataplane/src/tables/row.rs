//! The matches of an entry as values, masks and ranges over the words of a key.

use netkv_ir::Match;

use crate::wide;

/// The matches of an entry, over the words of a key.
#[derive(Debug)]
pub(super) struct Row {
    /// Required value of the bits under the mask. The mask of a range key is 0.
    pub(super) value: Box<[u64]>,
    pub(super) mask: Box<[u64]>,
    /// One range per range key, in order of the keys.
    pub(super) ranges: Box<[RowRange]>,
}

/// A range in a [`Row`].
#[derive(Debug)]
pub(super) struct RowRange {
    /// First word of the key field.
    pub(super) from: usize,
    pub(super) low: Box<[u64]>,
    pub(super) high: Box<[u64]>,
}

impl Row {
    /// Converts the matches of an entry, one per key.
    pub(super) fn new(widths: &[u32], matches: &[Match]) -> Self {
        let words = widths.iter().map(|width| wide::words(*width)).sum();
        let (mut value, mut mask) = (vec![0; words], vec![0; words]);
        let mut ranges = Vec::new();
        let mut from = 0;
        for (one, width) in matches.iter().zip(widths) {
            let to = from + wide::words(*width);
            match one {
                Match::Exact(exact) | Match::Optional(Some(exact)) => {
                    value[from..to].copy_from_slice(&exact.words);
                    mask[from..to].fill(u64::MAX);
                }
                Match::Lpm(prefix, length) => {
                    value[from..to].copy_from_slice(&prefix.words);
                    wide::set_bits(&mut mask[from..to], width - length, *width);
                }
                Match::Ternary(ternary, bits) => {
                    value[from..to].copy_from_slice(&ternary.words);
                    mask[from..to].copy_from_slice(&bits.words);
                }
                Match::Range(low, high) => ranges.push(RowRange {
                    from,
                    low: low.words.as_slice().into(),
                    high: high.words.as_slice().into(),
                }),
                Match::Optional(None) => {}
            }
            from = to;
        }
        value.iter_mut().zip(&mask).for_each(|(value, mask)| *value &= mask);
        Row { value: value.into(), mask: mask.into(), ranges: ranges.into() }
    }

    #[inline]
    pub(super) fn matches(&self, key: &[u64]) -> bool {
        key.iter().zip(&self.value).zip(&self.mask).all(|((key, value), mask)| key & mask == *value)
            && self.ranges.iter().all(|range| {
                in_range(&key[range.from..range.from + range.low.len()], &range.low, &range.high)
            })
    }
}

/// `low <= key <= high` for unsigned values of equal length.
#[inline]
pub(crate) fn in_range(key: &[u64], low: &[u64], high: &[u64]) -> bool {
    if let ([key], [low], [high]) = (key, low, high) {
        return low <= key && key <= high;
    }
    wide::compare(low, key).is_le() && wide::compare(key, high).is_le()
}
