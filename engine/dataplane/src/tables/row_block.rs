//! Blocks of up to 4,096 consecutive rows in the order of a table.
//!
//! The groups of a block are in the order of the table, so that the first group with a match has
//! the winner. A row may be in any slot of its group. If several rows of a group match, the one
//! with the smallest position wins.

use super::bit_planes::{LINE, MAX_GROUPS, Planes};
use super::plane_layout::PlaneLayout;
use super::ranked_rows::{Rank, Rows};

/// Maximum number of rows in a group: one bit of a word each.
pub(super) const GROUP_ROWS: usize = 64;

/// A group of up to 64 rows.
#[derive(Debug)]
pub(super) struct Group {
    /// Lower bound of the ranks in this group. All rows of earlier groups are below it.
    pub(super) first_rank: Rank,
    /// Occupied slots, as bits.
    used_slots: u64,
    ids: [u32; GROUP_ROWS],
    /// Position of the row in each slot, in the order of the group.
    positions: [u8; GROUP_ROWS],
}

impl Group {
    fn new(first_rank: Rank) -> Self {
        Self { first_rank, used_slots: 0, ids: [0; GROUP_ROWS], positions: [0; GROUP_ROWS] }
    }

    pub(super) fn is_full(&self) -> bool {
        self.used_slots == u64::MAX
    }

    /// Id of the first row in these slots.
    #[inline]
    fn first(&self, slots: u64) -> u32 {
        let mut best = slots.trailing_zeros() as usize;
        for slot in set_bits(slots & (slots - 1)) {
            if self.positions[slot as usize] < self.positions[best] {
                best = slot as usize;
            }
        }
        self.ids[best]
    }

    /// Slots and ranks of the rows, in order.
    fn in_order(&self, rows: &Rows) -> Vec<(u32, Rank)> {
        let slots = set_bits(self.used_slots);
        let mut order: Vec<(u32, Rank)> =
            slots.map(|slot| (slot, rows.rank(self.ids[slot as usize]))).collect();
        order.sort_unstable_by_key(|(slot, _)| self.positions[*slot as usize]);
        order
    }

    /// Number of rows before a rank.
    fn before(&self, rows: &Rows, rank: Rank) -> usize {
        set_bits(self.used_slots).filter(|slot| rows.rank(self.ids[*slot as usize]) < rank).count()
    }

    /// True if all rows are before a rank.
    pub(super) fn is_before(&self, rows: &Rows, rank: Rank) -> bool {
        self.before(rows, rank) == self.used_slots.count_ones() as usize
    }

    /// Adds a row, and returns its slot.
    fn add(&mut self, rows: &Rows, id: u32) -> u32 {
        let rank = rows.rank(id);
        let place = self.before(rows, rank) as u8;
        for other in set_bits(self.used_slots) {
            self.positions[other as usize] += u8::from(self.positions[other as usize] >= place);
        }
        let slot = self.used_slots.trailing_ones();
        self.used_slots |= 1 << slot;
        self.ids[slot as usize] = id;
        self.positions[slot as usize] = place;
        self.first_rank = self.first_rank.min(rank);
        slot
    }

    /// Removes a row, and returns its slot.
    fn remove(&mut self, id: u32) -> u32 {
        let held = set_bits(self.used_slots).find(|slot| self.ids[*slot as usize] == id);
        let slot = held.expect("an entry stands in the group of its rank");
        self.used_slots &= !(1 << slot);
        let place = self.positions[slot as usize];
        for other in set_bits(self.used_slots) {
            self.positions[other as usize] -= u8::from(self.positions[other as usize] > place);
        }
        slot
    }

    /// Moves all rows except the first `kept` to a new group, whose first rank is `from`.
    fn split_off(&mut self, order: &[(u32, Rank)], kept: usize, from: Rank) -> Self {
        let moved = order[kept..].iter().fold(0, |moved, (slot, _)| moved | (1 << slot));
        let mut behind =
            Group { first_rank: from, used_slots: moved, ids: self.ids, positions: self.positions };
        for (slot, _) in &order[kept..] {
            behind.positions[*slot as usize] -= kept as u8;
        }
        self.used_slots &= !moved;
        behind
    }
}

/// A block: groups of rows, and their bit planes.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) groups: Vec<Group>,
    planes: Planes,
}

impl Block {
    /// A block with one empty group.
    pub(super) fn new(layout: &PlaneLayout, from: Rank) -> Self {
        let mut planes = Planes::new(layout);
        planes.insert_group(0, 0);
        Self { groups: vec![Group::new(from)], planes }
    }

    pub(super) fn is_full(&self) -> bool {
        self.groups.len() == MAX_GROUPS
    }

    /// Id of the first row that matches a key. Calls `visit` for each examined line of groups.
    #[inline]
    pub(super) fn find(
        &self,
        layout: &PlaneLayout,
        key: &[u64],
        mut visit: impl FnMut(),
    ) -> Option<u32> {
        let mut candidates = self.planes.candidates(key);
        while candidates != 0 {
            visit();
            let line = candidates.trailing_zeros() as usize / LINE;
            let matching = self.planes.matching(layout, key, line);
            if let Some(at) = matching.0.iter().position(|rows| *rows != 0) {
                return Some(self.groups[LINE * line + at].first(matching.0[at]));
            }
            candidates &= !(0xff << (LINE * line));
        }
        None
    }

    /// Adds a row to a group that is not full.
    pub(super) fn add(&mut self, layout: &PlaneLayout, rows: &Rows, group: usize, id: u32) {
        let slot = self.groups[group].add(rows, id);
        self.planes.insert(layout, rows.row(id), group, slot);
    }

    /// Removes a row from its group, and the group if it becomes empty.
    pub(super) fn remove(&mut self, layout: &PlaneLayout, rows: &Rows, group: usize, id: u32) {
        let slot = self.groups[group].remove(id);
        self.planes.remove(layout, rows.row(id), group, slot);
        if self.groups[group].used_slots == 0 {
            self.groups.remove(group);
            self.planes.remove_group(group);
        }
    }

    /// Splits a full group, for a row with this rank. If the row is before or after all others, it
    /// gets a new group, so that rows that are added in order fill their groups. Otherwise, the
    /// second half of the rows moves to the new group.
    pub(super) fn split_group(&mut self, rows: &Rows, group: usize, rank: Rank) {
        let full = &mut self.groups[group];
        let order = full.in_order(rows);
        let before = order.partition_point(|(_, other)| *other < rank);
        let kept = if before == 0 || before == order.len() { before } else { order.len() / 2 };
        let from = order.get(kept).map_or(rank, |(_, rank)| *rank);
        let behind = full.split_off(&order, kept, from);
        self.planes.insert_group(group + 1, behind.used_slots);
        self.groups.insert(group + 1, behind);
    }

    /// Asserts that the planes are consistent, and that groups and rows are in order and after
    /// `last`. Returns the number of rows and their last rank.
    #[cfg(test)]
    pub(super) fn check(
        &mut self,
        layout: &PlaneLayout,
        rows: &Rows,
        mut last: Option<Rank>,
    ) -> (usize, Option<Rank>) {
        self.planes.check(layout);
        let mut count = 0;
        for group in &self.groups {
            let order = group.in_order(rows);
            assert!(order.is_sorted_by_key(|(_, rank)| *rank), "positions are in order");
            assert!(
                last < Some(group.first_rank) && group.first_rank <= order[0].1,
                "groups are in order"
            );
            count += order.len();
            last = order.last().map(|(_, rank)| *rank);
        }
        (count, last)
    }

    /// Moves the second half of the groups of a full block to a new block.
    pub(super) fn split_off(&mut self, layout: &PlaneLayout) -> Self {
        let line = self.groups.len() / LINE / 2;
        Self {
            groups: self.groups.split_off(LINE * line),
            planes: self.planes.split_off(layout, line),
        }
    }
}

/// Indices of the set bits, lowest first.
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
