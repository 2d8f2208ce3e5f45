//! Bit planes: for each byte of a key and each value of it, which rows allow it.
//!
//! Rows come in groups of 64, one machine word. A *plane* has, for each of the 256 values of one
//! byte of the key, a word per group, eight of them in a cache line. Every byte has a cover plane:
//! the rows that the byte does not rule out. For keys that are exact, lpm, ternary or optional the
//! rows of a group that match are the AND of one word per byte; bytes that no row asks about are
//! left out. A range of more than one byte is not a product of bytes, so each byte of a range key
//! has four more planes, with which all rows are compared at once, as one compares numbers digit
//! by digit: rows whose low end has this very byte (those stay tied) or a larger one (those fail
//! if they are tied), and the same for the high end.
//!
//! The summary has a bit per group, for cover planes only: whether any row of the group allows
//! that value. Its AND over the bytes leaves out most groups in one step.

use super::bytes::KeyByte;
use super::row::Row;
use super::shape::{
    HIGH_FAILS, HIGH_TIES, LOW_FAILS, LOW_TIES, RANGE_PLANES, RangeKey, Shape, VALUES,
};
use crate::bits::mask;

/// Groups that planes have room for: the summary is one word.
pub(super) const GROUPS: usize = 64;

/// Words of eight groups that stand next to each other: a cache line, taken at once.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [u64; LINE]);

/// Groups of a [`Line`].
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

/// The planes of up to [`GROUPS`] groups of rows.
#[derive(Debug)]
pub(super) struct Planes {
    /// Groups in use.
    groups: usize,
    /// Lines that a plane has for each value.
    room: usize,
    /// The lines of plane `p` and value `v` start at `(256 p + v) room`.
    lines: Vec<Line>,
    /// The word of cover plane `p` and value `v` is `256 p + v`.
    summary: Vec<u64>,
    /// Per byte of the key, the rows that do not allow all of its values.
    choosy: Vec<u32>,
    /// Bytes for which there is such a row, or else the first. The others rule nothing out.
    looked_at: Vec<(usize, KeyByte)>,
}

impl Planes {
    /// No groups.
    pub(super) fn new(shape: &Shape) -> Self {
        Self {
            groups: 0,
            room: 1,
            lines: vec![Line::NONE; shape.planes * VALUES],
            summary: vec![0; shape.bytes.len() * VALUES],
            choosy: vec![0; shape.bytes.len()],
            looked_at: Vec::new(),
        }
    }

    /// Groups in which rows may match a key, as bits.
    #[inline]
    pub(super) fn candidates(&self, key: &[u64]) -> u64 {
        let mut groups = mask(self.groups as u32);
        // A single line is as quick to look into.
        if self.room == 1 {
            return groups;
        }
        for (plane, byte) in &self.looked_at {
            groups &= self.summary[plane * VALUES + usize::from(byte.of(key))];
            if groups == 0 {
                break;
            }
        }
        groups
    }

    /// The rows that match a key, as bits, of the groups from `LINE * line` on.
    #[inline]
    pub(super) fn matching(&self, shape: &Shape, key: &[u64], line: usize) -> Line {
        let mut rows = Line::ALL;
        for some in self.looked_at.chunks(4) {
            for (plane, byte) in some {
                rows = rows.and(self.line(*plane, byte.of(key), line));
            }
            if rows.is_empty() {
                return rows;
            }
        }
        for range in shape.ranges.iter().filter(|range| range.count > 1) {
            rows = self.in_range(shape, range, key, line, rows);
        }
        rows
    }

    /// Those of `rows` whose range has the key in it.
    #[inline]
    fn in_range(
        &self,
        shape: &Shape,
        range: &RangeKey,
        key: &[u64],
        line: usize,
        mut rows: Line,
    ) -> Line {
        let (mut low, mut high) = (rows, rows);
        for i in 0..range.count {
            let value = shape.bytes[range.first + i].of(key);
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
        &self.lines[(plane * VALUES + usize::from(value)) * self.room + line]
    }

    /// Puts a row into a slot (0 to 63) of a group.
    pub(super) fn insert(&mut self, shape: &Shape, row: &Row, group: usize, slot: u32) {
        shape.sets(row, |plane, values| {
            if let Some(choosy) = self.choosy.get_mut(plane) {
                *choosy += u32::from(!values.is_all());
            }
            values.each(|value| {
                let at = plane * VALUES + value;
                self.lines[at * self.room + group / LINE].0[group % LINE] |= 1 << slot;
                if let Some(summary) = self.summary.get_mut(at) {
                    *summary |= 1 << group;
                }
            });
        });
        self.choose(shape);
    }

    /// Takes a row out.
    pub(super) fn remove(&mut self, shape: &Shape, row: &Row, group: usize, slot: u32) {
        shape.sets(row, |plane, values| {
            if let Some(choosy) = self.choosy.get_mut(plane) {
                *choosy -= u32::from(!values.is_all());
            }
            values.each(|value| {
                let at = plane * VALUES + value;
                let word = &mut self.lines[at * self.room + group / LINE].0[group % LINE];
                *word &= !(1 << slot);
                if *word == 0
                    && let Some(summary) = self.summary.get_mut(at)
                {
                    *summary &= !(1 << group);
                }
            });
        });
        self.choose(shape);
    }

    /// Chooses the bytes that lookups look at.
    fn choose(&mut self, shape: &Shape) {
        let bytes = || shape.bytes.iter().copied().enumerate();
        self.looked_at.clear();
        self.looked_at.extend(bytes().filter(|(plane, _)| self.choosy[*plane] > 0));
        // Any plane knows which slots hold a row.
        if self.looked_at.is_empty() {
            self.looked_at.extend(bytes().take(1));
        }
    }

    /// Makes a group at `group`, which the slots in `moved` move to from the group before.
    pub(super) fn open(&mut self, group: usize, moved: u64) {
        if self.groups == LINE * self.room {
            self.grow();
        }
        let used = self.groups;
        for (at, lines) in self.lines.chunks_exact_mut(self.room).enumerate() {
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

    /// Takes a group without rows out.
    pub(super) fn close(&mut self, group: usize) {
        let used = self.groups;
        for lines in self.lines.chunks_exact_mut(self.room) {
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

    /// Cuts off the groups from line `from` on.
    pub(super) fn split_off(&mut self, shape: &Shape, from: usize) -> Self {
        let mut upper = Self {
            groups: self.groups - LINE * from,
            room: self.room,
            lines: vec![Line::NONE; self.lines.len()],
            summary: vec![0; self.summary.len()],
            choosy: vec![0; self.choosy.len()],
            looked_at: Vec::new(),
        };
        let pairs = self.lines.chunks_exact_mut(self.room);
        for (lower, upper) in pairs.zip(upper.lines.chunks_exact_mut(self.room)) {
            upper[..self.room - from].copy_from_slice(&lower[from..]);
            lower[from..].fill(Line::NONE);
        }
        self.groups = LINE * from;
        for (lower, upper) in self.summary.iter_mut().zip(&mut upper.summary) {
            *upper = *lower >> self.groups;
            *lower &= mask(self.groups as u32);
        }
        self.count_choosy(shape);
        upper.count_choosy(shape);
        upper
    }

    /// Counts the rows that do not allow all values, byte by byte.
    fn count_choosy(&mut self, shape: &Shape) {
        for (choosy, lines) in
            self.choosy.iter_mut().zip(self.lines.chunks_exact(VALUES * self.room))
        {
            *choosy = 0;
            for line in 0..self.room {
                let values = || lines.iter().skip(line).step_by(self.room);
                let all = values().fold(Line::ALL, |all, value| all.and(value));
                let any = values().fold(Line::NONE, |any, value| any.or(value));
                *choosy += any.without(&all).0.iter().map(|word| word.count_ones()).sum::<u32>();
            }
        }
        self.choose(shape);
    }

    /// Doubles the room.
    fn grow(&mut self) {
        let room = 2 * self.room;
        let mut lines = vec![Line::NONE; 2 * self.lines.len()];
        for (new, old) in lines.chunks_exact_mut(room).zip(self.lines.chunks_exact(self.room)) {
            new[..self.room].copy_from_slice(old);
        }
        (self.room, self.lines) = (room, lines);
    }
}

/// Changes lines as the words that they are.
#[inline]
fn edit(lines: &mut [Line], change: impl FnOnce(&mut [u64])) {
    let mut words = [0; GROUPS];
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
        /// Asserts that summary and choice of bytes say what the lines hold.
        pub(in crate::tables) fn check(&mut self, shape: &Shape) {
            for (summary, lines) in self.summary.iter().zip(self.lines.chunks_exact(self.room)) {
                let words = lines.iter().flat_map(|line| line.0).enumerate();
                let expected = words.fold(0, |all, (group, word)| {
                    all | (u64::from(word != 0).checked_shl(group as u32).unwrap_or(0))
                });
                assert_eq!(*summary, expected);
            }
            let choosy = self.choosy.clone();
            self.count_choosy(shape);
            assert_eq!(self.choosy, choosy);
        }
    }

    #[test]
    fn groups_keep_their_rows_when_others_come_and_go_beside_them() {
        let shape = Shape::new(&[8], &[false]);
        let row = |value| Row::new(&[8], &[netkv_ir::Match::Exact(netkv_ir::Value::new(8, value))]);
        let mut planes = Planes::new(&shape);
        for group in 0..GROUPS {
            planes.open(group, 0);
            planes.insert(&shape, &row(group as u128), group, 3);
            planes.insert(&shape, &row(200), group, 63);
            planes.check(&shape);
        }
        let upper = planes.split_off(&shape, 4);
        assert_eq!((planes.candidates(&[40]), upper.candidates(&[40])), (0, 1 << 8));
        assert_eq!(upper.matching(&shape, &[40], 1).0, [1 << 3, 0, 0, 0, 0, 0, 0, 0]);
        // Slot 3 of group 5 moves to a group of its own; then the rest of group 5 goes.
        planes.open(6, 1 << 3);
        planes.check(&shape);
        assert_eq!((planes.candidates(&[5]), planes.candidates(&[6])), (1 << 6, 1 << 7));
        planes.remove(&shape, &row(200), 5, 63);
        planes.close(5);
        planes.check(&shape);
        assert_eq!((planes.candidates(&[5]), planes.candidates(&[6])), (1 << 5, 1 << 6));
        assert_eq!(planes.candidates(&[200]), mask(32) & !(1 << 5));
    }
}
