//! Blocks: up to 4,096 rows that stand one after the other in the order of a table.
//!
//! A block's groups are in the order of the table, so the first group with a row that matches has
//! the winner. Within a group rows stand in any slot: of several that match, their places decide.

use super::planes::{GROUPS, LINE, Planes};
use super::priority::{Rank, Rows};
use super::shape::Shape;

/// Rows of a group: the bits of a word.
pub(super) const GROUP_ROWS: usize = 64;

/// Up to 64 rows.
#[derive(Debug)]
pub(super) struct Group {
    /// No row here comes before this rank, none of the groups before comes at or behind it.
    pub(super) from: Rank,
    /// Slots that hold a row.
    taken: u64,
    ids: [u32; GROUP_ROWS],
    /// How many rows of the group come before each.
    places: [u8; GROUP_ROWS],
}

impl Group {
    fn new(from: Rank) -> Self {
        Self { from, taken: 0, ids: [0; GROUP_ROWS], places: [0; GROUP_ROWS] }
    }

    pub(super) fn is_full(&self) -> bool {
        self.taken == u64::MAX
    }

    /// The first of some rows.
    #[inline]
    fn first(&self, slots: u64) -> u32 {
        let mut best = slots.trailing_zeros() as usize;
        for slot in set_bits(slots & (slots - 1)) {
            if self.places[slot as usize] < self.places[best] {
                best = slot as usize;
            }
        }
        self.ids[best]
    }

    /// Slots and ranks of the rows, in order.
    fn in_order(&self, rows: &Rows) -> Vec<(u32, Rank)> {
        let slots = set_bits(self.taken);
        let mut order: Vec<(u32, Rank)> =
            slots.map(|slot| (slot, rows.rank(self.ids[slot as usize]))).collect();
        order.sort_unstable_by_key(|(slot, _)| self.places[*slot as usize]);
        order
    }

    /// How many rows come before a rank.
    fn before(&self, rows: &Rows, rank: Rank) -> usize {
        set_bits(self.taken).filter(|slot| rows.rank(self.ids[*slot as usize]) < rank).count()
    }

    /// Whether all rows come before a rank.
    pub(super) fn is_before(&self, rows: &Rows, rank: Rank) -> bool {
        self.before(rows, rank) == self.taken.count_ones() as usize
    }

    /// Takes a row up and returns its slot.
    fn add(&mut self, rows: &Rows, id: u32) -> u32 {
        let rank = rows.rank(id);
        let place = self.before(rows, rank) as u8;
        for other in set_bits(self.taken) {
            self.places[other as usize] += u8::from(self.places[other as usize] >= place);
        }
        let slot = self.taken.trailing_ones();
        self.taken |= 1 << slot;
        self.ids[slot as usize] = id;
        self.places[slot as usize] = place;
        self.from = self.from.min(rank);
        slot
    }

    /// Gives a row up and returns the slot it had.
    fn remove(&mut self, id: u32) -> u32 {
        let held = set_bits(self.taken).find(|slot| self.ids[*slot as usize] == id);
        let slot = held.expect("an entry stands in the group of its rank");
        self.taken &= !(1 << slot);
        let place = self.places[slot as usize];
        for other in set_bits(self.taken) {
            self.places[other as usize] -= u8::from(self.places[other as usize] > place);
        }
        slot
    }

    /// Gives all rows but the first `kept` up, to a group that starts at `from`.
    fn split_off(&mut self, order: &[(u32, Rank)], kept: usize, from: Rank) -> Self {
        let moved = order[kept..].iter().fold(0, |moved, (slot, _)| moved | (1 << slot));
        let mut behind = Group { from, taken: moved, ids: self.ids, places: self.places };
        for (slot, _) in &order[kept..] {
            behind.places[*slot as usize] -= kept as u8;
        }
        self.taken &= !moved;
        behind
    }
}

/// Groups of rows with their planes.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) groups: Vec<Group>,
    planes: Planes,
}

impl Block {
    /// One group without rows.
    pub(super) fn new(shape: &Shape, from: Rank) -> Self {
        let mut planes = Planes::new(shape);
        planes.open(0, 0);
        Self { groups: vec![Group::new(from)], planes }
    }

    pub(super) fn is_full(&self) -> bool {
        self.groups.len() == GROUPS
    }

    /// The first row that matches a key. Calls `visit` for each line of groups looked into.
    #[inline]
    pub(super) fn find(&self, shape: &Shape, key: &[u64], mut visit: impl FnMut()) -> Option<u32> {
        let mut candidates = self.planes.candidates(key);
        while candidates != 0 {
            visit();
            let line = candidates.trailing_zeros() as usize / LINE;
            let matching = self.planes.matching(shape, key, line);
            if let Some(at) = matching.0.iter().position(|rows| *rows != 0) {
                return Some(self.groups[LINE * line + at].first(matching.0[at]));
            }
            candidates &= !(0xff << (LINE * line));
        }
        None
    }

    /// Puts a row into a group that has room.
    pub(super) fn add(&mut self, shape: &Shape, rows: &Rows, group: usize, id: u32) {
        let slot = self.groups[group].add(rows, id);
        self.planes.insert(shape, rows.row(id), group, slot);
    }

    /// Takes a row out of its group, and the group with its last row.
    pub(super) fn remove(&mut self, shape: &Shape, rows: &Rows, group: usize, id: u32) {
        let slot = self.groups[group].remove(id);
        self.planes.remove(shape, rows.row(id), group, slot);
        if self.groups[group].taken == 0 {
            self.groups.remove(group);
            self.planes.close(group);
        }
    }

    /// Makes room in a full group for a row of this rank, by a group behind it. A row before or
    /// behind all others gets a group to itself, so that rows which come in order leave full
    /// groups; else the later half of the rows moves.
    pub(super) fn split_group(&mut self, rows: &Rows, group: usize, rank: Rank) {
        let full = &mut self.groups[group];
        let order = full.in_order(rows);
        let before = order.partition_point(|(_, other)| *other < rank);
        let kept = if before == 0 || before == order.len() { before } else { order.len() / 2 };
        let from = order.get(kept).map_or(rank, |(_, rank)| *rank);
        let behind = full.split_off(&order, kept, from);
        self.planes.open(group + 1, behind.taken);
        self.groups.insert(group + 1, behind);
    }

    /// Asserts that the planes are as they should be, and groups and rows in order from `last` on;
    /// returns the number of rows and the last of their ranks.
    #[cfg(test)]
    pub(super) fn check(
        &mut self,
        shape: &Shape,
        rows: &Rows,
        mut last: Option<Rank>,
    ) -> (usize, Option<Rank>) {
        self.planes.check(shape);
        let mut count = 0;
        for group in &self.groups {
            let order = group.in_order(rows);
            assert!(order.is_sorted_by_key(|(_, rank)| *rank), "places are in order");
            assert!(last < Some(group.from) && group.from <= order[0].1, "groups are in order");
            count += order.len();
            last = order.last().map(|(_, rank)| *rank);
        }
        (count, last)
    }

    /// The later half of the groups of a full block, as a block of its own.
    pub(super) fn split_off(&mut self, shape: &Shape) -> Self {
        let line = self.groups.len() / LINE / 2;
        Self {
            groups: self.groups.split_off(LINE * line),
            planes: self.planes.split_off(shape, line),
        }
    }
}

/// The numbers of the bits that are set, lowest first.
#[inline]
fn set_bits(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros();
        (bits != 0).then(|| {
            bits &= bits - 1;
            lowest
        })
    })
}
