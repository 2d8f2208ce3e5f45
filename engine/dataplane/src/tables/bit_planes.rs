//! Bit planes: for each byte of a key and each value of the byte, the rows that accept it.
//!
//! Rows are in groups of 64, one machine word. For each of the 256 values of one byte of the key, a
//! *plane* has one word per group, and eight words are one cache line. Every byte has a cover plane
//! with the rows that accept the value. For exact, lpm, ternary and optional keys, the matching
//! rows of a group are the AND of one word per byte. Bytes that no row restricts are skipped.
//!
//! A range of several bytes cannot be tested byte by byte alone. Each byte of a range key has four
//! more planes, which compare all rows with the key at once, digit by digit. Two of them compare
//! the low end: the *ties* plane has the rows whose low end has this byte value, the *fails* plane
//! those with a larger one. A row in the *fails* plane fails if all earlier bytes are tied. The
//! other two planes compare the high end.
//!
//! The summary has one bit per group and value of a cover plane, which is set if any row of the
//! group accepts the value. The AND of the summaries over all bytes excludes most groups.

use super::key_bytes::KeyByte;
use super::plane_layout::{
    HIGH_FAILS, HIGH_TIES, LOW_FAILS, LOW_TIES, PlaneLayout, RANGE_PLANES, RangeKey, VALUES,
};
use super::row::Row;
use crate::bits::mask;

/// Maximum number of groups: the summary is one word.
pub(super) const MAX_GROUPS: usize = 64;

/// The words of eight consecutive groups, which are one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [u64; LINE]);

/// Number of groups in a [`Line`].
pub(super) const LINE: usize = 8;

impl Line {
    const NONE: Self = Self([0; LINE]);
    const ALL: Self = Self([u64::MAX; LINE]);

    #[inline]
    fn and(self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    #[inline]
    fn without(self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    #[inline]
    fn or(self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }
}

/// The planes of up to [`MAX_GROUPS`] groups of rows.
#[derive(Debug)]
pub(super) struct Planes {
    /// Number of groups.
    groups: usize,
    /// Number of lines per plane and value.
    line_count: usize,
    /// The lines of plane `p` and value `v` start at `(256 p + v) room`.
    lines: Vec<Line>,
    /// The word of cover plane `p` and value `v` is `256 p + v`.
    summary: Vec<u64>,
    /// For each byte of the key, the number of rows that do not accept all of its values.
    restrictive_rows: Vec<u32>,
    /// Bytes with such a row, or the first byte if there is none. Lookups skip all other bytes.
    relevant_bytes: Vec<(usize, KeyByte)>,
}

impl Planes {
    /// Planes without groups.
    pub(super) fn new(layout: &PlaneLayout) -> Self {
        Self {
            groups: 0,
            line_count: 1,
            lines: vec![Line::NONE; layout.planes * VALUES],
            summary: vec![0; layout.bytes.len() * VALUES],
            restrictive_rows: vec![0; layout.bytes.len()],
            relevant_bytes: Vec::new(),
        }
    }

    /// Groups in which rows may match a key, as bits.
    #[inline]
    pub(super) fn candidates(&self, key: &[u64]) -> u64 {
        let mut groups = mask(self.groups as u32);
        // A single line is examined as fast as its summary.
        if self.line_count == 1 {
            return groups;
        }
        for (plane, byte) in &self.relevant_bytes {
            groups &= self.summary[plane * VALUES + usize::from(byte.of(key))];
            if groups == 0 {
                break;
            }
        }
        groups
    }

    /// The rows that match a key, as bits, of the eight groups of a line.
    #[inline]
    pub(super) fn matching(&self, layout: &PlaneLayout, key: &[u64], line: usize) -> Line {
        let mut rows = Line::ALL;
        for some in self.relevant_bytes.chunks(4) {
            for (plane, byte) in some {
                rows = rows.and(self.line(*plane, byte.of(key), line));
            }
            if rows.is_empty() {
                return rows;
            }
        }
        for range in layout.ranges.iter().filter(|range| range.count > 1) {
            rows = self.in_range(layout, range, key, line, rows);
        }
        rows
    }

    /// The rows, among `rows`, whose range contains the key.
    #[inline]
    fn in_range(
        &self,
        layout: &PlaneLayout,
        range: &RangeKey,
        key: &[u64],
        line: usize,
        mut rows: Line,
    ) -> Line {
        let (mut low, mut high) = (rows, rows);
        for i in 0..range.count {
            let value = layout.bytes[range.first + i].of(key);
            let plane = |which| self.line(range.plane + RANGE_PLANES * i + which, value, line);
            let failed = low.and(plane(LOW_FAILS)).or(&high.and(plane(HIGH_FAILS)));
            rows = rows.without(&failed);
            low = low.and(plane(LOW_TIES));
            high = high.and(plane(HIGH_TIES));
            if rows.and(&low.or(&high)).is_empty() {
                break;
            }
        }
        rows
    }

    #[inline]
    fn line(&self, plane: usize, value: u8, line: usize) -> &Line {
        &self.lines[(plane * VALUES + usize::from(value)) * self.line_count + line]
    }

    /// Adds a row in a slot (0 to 63) of a group.
    pub(super) fn insert(&mut self, layout: &PlaneLayout, row: &Row, group: usize, slot: u32) {
        layout.sets(row, |plane, values| {
            if let Some(restrictive_rows) = self.restrictive_rows.get_mut(plane) {
                *restrictive_rows += u32::from(!values.is_all());
            }
            values.for_each(|value| {
                let at = plane * VALUES + value;
                self.lines[at * self.line_count + group / LINE].0[group % LINE] |= 1 << slot;
                if let Some(summary) = self.summary.get_mut(at) {
                    *summary |= 1 << group;
                }
            });
        });
        self.select_relevant_bytes(layout);
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, layout: &PlaneLayout, row: &Row, group: usize, slot: u32) {
        layout.sets(row, |plane, values| {
            if let Some(restrictive_rows) = self.restrictive_rows.get_mut(plane) {
                *restrictive_rows -= u32::from(!values.is_all());
            }
            values.for_each(|value| {
                let at = plane * VALUES + value;
                let word = &mut self.lines[at * self.line_count + group / LINE].0[group % LINE];
                *word &= !(1 << slot);
                if *word == 0
                    && let Some(summary) = self.summary.get_mut(at)
                {
                    *summary &= !(1 << group);
                }
            });
        });
        self.select_relevant_bytes(layout);
    }

    /// Selects the bytes that lookups test.
    fn select_relevant_bytes(&mut self, layout: &PlaneLayout) {
        let bytes = || layout.bytes.iter().copied().enumerate();
        self.relevant_bytes.clear();
        self.relevant_bytes.extend(bytes().filter(|(plane, _)| self.restrictive_rows[*plane] > 0));
        // Any plane has the occupied slots.
        if self.relevant_bytes.is_empty() {
            self.relevant_bytes.extend(bytes().take(1));
        }
    }

    /// Inserts a group at index `group`, and moves the slots in `moved` from the previous group.
    pub(super) fn insert_group(&mut self, group: usize, moved: u64) {
        if self.groups == LINE * self.line_count {
            self.grow();
        }
        let used = self.groups;
        for (at, lines) in self.lines.chunks_exact_mut(self.line_count).enumerate() {
            let mut emptied = false;
            edit(lines, |words| {
                words.copy_within(group..used, group + 1);
                words[group] = 0;
                if let Some(before) = group.checked_sub(1) {
                    words[group] = words[before] & moved;
                    words[before] &= !moved;
                    emptied = words[before] == 0;
                }
            });
            if let Some(summary) = self.summary.get_mut(at) {
                let low = *summary & mask(group as u32);
                let filled = lines[group / LINE].0[group % LINE] != 0;
                *summary = low | ((*summary & !low) << 1) | (u64::from(filled) << group);
                if emptied {
                    *summary &= !(1 << (group - 1));
                }
            }
        }
        self.groups += 1;
    }

    /// Removes an empty group.
    pub(super) fn remove_group(&mut self, group: usize) {
        let used = self.groups;
        for lines in self.lines.chunks_exact_mut(self.line_count) {
            edit(lines, |words| {
                words.copy_within(group + 1..used, group);
                words[used - 1] = 0;
            });
        }
        for summary in &mut self.summary {
            let low = *summary & mask(group as u32);
            *summary = low | ((*summary & !mask(group as u32 + 1)) >> 1);
        }
        self.groups -= 1;
    }

    /// Moves the groups from line `from` on to new planes.
    pub(super) fn split_off(&mut self, layout: &PlaneLayout, from: usize) -> Self {
        let mut upper = Self {
            groups: self.groups - LINE * from,
            line_count: self.line_count,
            lines: vec![Line::NONE; self.lines.len()],
            summary: vec![0; self.summary.len()],
            restrictive_rows: vec![0; self.restrictive_rows.len()],
            relevant_bytes: Vec::new(),
        };
        let pairs = self.lines.chunks_exact_mut(self.line_count);
        for (lower, upper) in pairs.zip(upper.lines.chunks_exact_mut(self.line_count)) {
            upper[..self.line_count - from].copy_from_slice(&lower[from..]);
            lower[from..].fill(Line::NONE);
        }
        self.groups = LINE * from;
        for (lower, upper) in self.summary.iter_mut().zip(&mut upper.summary) {
            *upper = *lower >> self.groups;
            *lower &= mask(self.groups as u32);
        }
        self.count_restrictive_rows(layout);
        upper.count_restrictive_rows(layout);
        upper
    }

    /// Counts the rows that do not accept all values, for each byte.
    fn count_restrictive_rows(&mut self, layout: &PlaneLayout) {
        for (restrictive_rows, lines) in
            self.restrictive_rows.iter_mut().zip(self.lines.chunks_exact(VALUES * self.line_count))
        {
            *restrictive_rows = 0;
            for line in 0..self.line_count {
                let values = || lines.iter().skip(line).step_by(self.line_count);
                let all = values().fold(Line::ALL, |all, value| all.and(value));
                let any = values().fold(Line::NONE, |any, value| any.or(value));
                *restrictive_rows +=
                    any.without(&all).0.iter().map(|word| word.count_ones()).sum::<u32>();
            }
        }
        self.select_relevant_bytes(layout);
    }

    /// Doubles the number of lines per plane and value.
    fn grow(&mut self) {
        let line_count = 2 * self.line_count;
        let mut lines = vec![Line::NONE; 2 * self.lines.len()];
        for (new, old) in
            lines.chunks_exact_mut(line_count).zip(self.lines.chunks_exact(self.line_count))
        {
            new[..self.line_count].copy_from_slice(old);
        }
        (self.line_count, self.lines) = (line_count, lines);
    }
}

/// Changes lines as a slice of words.
#[inline]
fn edit(lines: &mut [Line], change: impl FnOnce(&mut [u64])) {
    let mut words = [0; MAX_GROUPS];
    let words = &mut words[..LINE * lines.len()];
    for (words, line) in words.chunks_exact_mut(LINE).zip(&*lines) {
        words.copy_from_slice(&line.0);
    }
    change(words);
    for (words, line) in words.chunks_exact(LINE).zip(lines) {
        line.0.copy_from_slice(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Planes {
        /// Asserts that the summary and the counts of restrictive rows are consistent with the
        /// lines.
        pub(in crate::tables) fn check(&mut self, layout: &PlaneLayout) {
            for (summary, lines) in
                self.summary.iter().zip(self.lines.chunks_exact(self.line_count))
            {
                let words = lines.iter().flat_map(|line| line.0).enumerate();
                let expected = words.fold(0, |all, (group, word)| {
                    all | (u64::from(word != 0).checked_shl(group as u32).unwrap_or(0))
                });
                assert_eq!(*summary, expected);
            }
            let restrictive_rows = self.restrictive_rows.clone();
            self.count_restrictive_rows(layout);
            assert_eq!(self.restrictive_rows, restrictive_rows);
        }
    }

    #[test]
    fn groups_keep_their_rows_when_others_are_added_or_removed() {
        let layout = PlaneLayout::new(&[8], &[false]);
        let row = |value| Row::new(&[8], &[netkv_ir::Match::Exact(netkv_ir::Value::new(8, value))]);
        let mut planes = Planes::new(&layout);
        for group in 0..MAX_GROUPS {
            planes.insert_group(group, 0);
            planes.insert(&layout, &row(group as u128), group, 3);
            planes.insert(&layout, &row(200), group, 63);
            planes.check(&layout);
        }
        let upper = planes.split_off(&layout, 4);
        assert_eq!((planes.candidates(&[40]), upper.candidates(&[40])), (0, 1 << 8));
        assert_eq!(upper.matching(&layout, &[40], 1).0, [1 << 3, 0, 0, 0, 0, 0, 0, 0]);
        // Slot 3 of group 5 moves to a new group. Then the rest of group 5 is removed.
        planes.insert_group(6, 1 << 3);
        planes.check(&layout);
        assert_eq!((planes.candidates(&[5]), planes.candidates(&[6])), (1 << 6, 1 << 7));
        planes.remove(&layout, &row(200), 5, 63);
        planes.remove_group(5);
        planes.check(&layout);
        assert_eq!((planes.candidates(&[5]), planes.candidates(&[6])), (1 << 5, 1 << 6));
        assert_eq!(planes.candidates(&[200]), mask(32) & !(1 << 5));
    }
}
