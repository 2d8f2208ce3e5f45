//! Lookup by priority, like a TCAM: for tables with ternary, range or optional keys.
//!
//! The matching entry with the largest priority wins, and the oldest of equal ones. The rows are in
//! that order, in *blocks* of up to 64 groups of 64 rows. The bit planes of a block (see
//! `bit_planes`) yield the groups that can have a match, with one AND per byte of the key. A second
//! AND per byte yields the matching rows of 8 groups. The search ends at the first block with a
//! match. Reasons for this structure:
//!
//! - Its cost does not depend on the masks and ranges. Tuple space search (a hash map per mask)
//!   needs one probe per mask, and a range is several masks. Decision trees copy overlapping rules
//!   to several leaves without a bound, and a change may copy a subtree.
//! - If entries differ, the summaries exclude most groups. The cost is then that of a summary (one
//!   word per byte of the key) per 4,096 rows. In the worst case, no single byte distinguishes
//!   groups, and every line of 512 rows is examined. This is still about fifty times faster than
//!   testing each row.
//! - Adding or removing a row changes only its own bits: per byte of the key, one bit for an exact
//!   byte, and 256 for a byte without restriction. Full groups and blocks are split, and sparse
//!   ones are packed, so that the cost is amortized over many writes. Lookups never rebuild
//!   anything.
//!
//! It takes much memory: 32 bytes per row and byte of the key, and 160 for a byte of a range key.
//! If rows are not added in order of priority, it takes up to two and a half times as much.

use netkv_ir::{MatchKind, TableKey};

use super::plane_layout::PlaneLayout;
use super::ranked_rows::{Rank, Rows};
use super::row::Row;
use super::row_block::{Block, GROUP_ROWS};

/// Maximum number of rows that are tested one by one. Bit planes are faster from 20 to 40 rows on,
/// and take at least 16 KiB per byte of the key.
const MAX_SCANNED_ROWS: usize = 32;

/// Lookup of entries by priority.
#[derive(Debug)]
pub(super) struct PriorityIndex {
    layout: PlaneLayout,
    rows: Rows,
    len: usize,
    /// Number of entries added so far.
    age: u64,
    search: Search,
}

#[derive(Debug)]
enum Search {
    /// Ids in order of rank.
    Scan(Vec<u32>),
    /// Blocks in order of rank. None is empty.
    Blocks(Vec<Block>),
}

impl PriorityIndex {
    /// An empty index for these keys.
    pub(super) fn new(keys: &[TableKey]) -> Self {
        let widths: Vec<u32> = keys.iter().map(|key| key.width).collect();
        let ranges: Vec<bool> = keys.iter().map(|key| key.kind == MatchKind::Range).collect();
        Self {
            layout: PlaneLayout::new(&widths, &ranges),
            rows: Rows::default(),
            len: 0,
            age: 0,
            search: Search::Scan(Vec::new()),
        }
    }

    /// Id of the first entry that matches this key.
    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<u32> {
        self.find_counted(key, || ())
    }

    /// Same as `find`, and calls `visit` for each examined row or line of groups.
    #[inline]
    fn find_counted(&self, key: &[u64], mut visit: impl FnMut()) -> Option<u32> {
        match &self.search {
            Search::Scan(ids) => ids.iter().copied().find(|id| {
                visit();
                self.rows.row(*id).matches(key)
            }),
            Search::Blocks(blocks) => {
                blocks.iter().find_map(|block| block.find(&self.layout, key, &mut visit))
            }
        }
    }

    /// Adds an entry with a new id.
    pub(super) fn insert(&mut self, row: Row, priority: u32, id: u32) {
        let rank = Rank { below_largest: u32::MAX - priority, age: self.age };
        self.age += 1;
        self.len += 1;
        if self.rows.0.len() <= id as usize {
            self.rows.0.resize_with(id as usize + 1, || None);
        }
        self.rows.0[id as usize] = Some((rank, row));
        match &mut self.search {
            Search::Scan(ids) => {
                let at = ids.partition_point(|other| self.rows.rank(*other) < rank);
                ids.insert(at, id);
                if ids.len() > MAX_SCANNED_ROWS {
                    self.rebuild();
                }
            }
            Search::Blocks(blocks) => insert_row(blocks, &self.layout, &self.rows, id),
        }
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, id: u32) {
        let rank = self.rows.rank(id);
        self.len -= 1;
        let mut sparse = false;
        match &mut self.search {
            Search::Scan(ids) => ids.retain(|other| *other != id),
            Search::Blocks(blocks) => {
                let (block, group) = find_group(blocks, rank);
                blocks[block].remove(&self.layout, &self.rows, group, id);
                if blocks[block].groups.is_empty() {
                    blocks.remove(block);
                }
                let groups: usize = blocks.iter().map(|block| block.groups.len()).sum();
                // For a lookup, a sparse group costs as much as a full one.
                sparse = groups * GROUP_ROWS > 4 * self.len + GROUP_ROWS
                    || self.len <= MAX_SCANNED_ROWS / 2;
            }
        }
        self.rows.0[id as usize] = None;
        if sparse {
            self.rebuild();
        }
    }

    /// Builds the search structure for the current rows.
    fn rebuild(&mut self) {
        let installed = (0..).zip(&self.rows.0).filter_map(|(id, row)| Some((row.as_ref()?.0, id)));
        let mut order: Vec<(Rank, u32)> = installed.collect();
        order.sort_unstable();
        let ids = order.into_iter().map(|(_, id)| id);
        self.search = if self.len > MAX_SCANNED_ROWS {
            let mut blocks = Vec::new();
            ids.for_each(|id| insert_row(&mut blocks, &self.layout, &self.rows, id));
            Search::Blocks(blocks)
        } else {
            Search::Scan(ids.collect())
        };
    }
}

/// Block and group of a row with this rank.
fn find_group(blocks: &[Block], rank: Rank) -> (usize, usize) {
    let block =
        blocks.partition_point(|block| block.groups[0].first_rank <= rank).saturating_sub(1);
    let groups = &blocks[block].groups;
    (block, groups.partition_point(|group| group.first_rank <= rank).saturating_sub(1))
}

/// Adds a row to its group. Splits or adds groups and blocks if the group is full.
fn insert_row(blocks: &mut Vec<Block>, layout: &PlaneLayout, rows: &Rows, id: u32) {
    let rank = rows.rank(id);
    if blocks.is_empty() {
        blocks.push(Block::new(layout, rank));
    }
    let (mut block, mut group) = find_group(blocks, rank);
    if blocks[block].groups[group].is_full() {
        let behind = blocks[block].groups[group].is_before(rows, rank);
        let next = next_group(blocks, block, group);
        match next {
            Some((next_block, next_group))
                if behind && !blocks[next_block].groups[next_group].is_full() =>
            {
                (block, group) = (next_block, next_group);
            }
            None if behind && blocks[block].is_full() => {
                blocks.push(Block::new(layout, rank));
                (block, group) = (block + 1, 0);
            }
            _ => {
                if blocks[block].is_full() {
                    let upper = blocks[block].split_off(layout);
                    blocks.insert(block + 1, upper);
                    (block, group) = find_group(blocks, rank);
                }
                blocks[block].split_group(rows, group, rank);
                (block, group) = find_group(blocks, rank);
            }
        }
    }
    blocks[block].add(layout, rows, group, id);
}

/// The group after a group.
fn next_group(blocks: &[Block], block: usize, group: usize) -> Option<(usize, usize)> {
    if group + 1 < blocks[block].groups.len() {
        return Some((block, group + 1));
    }
    (block + 1 < blocks.len()).then_some((block + 1, 0))
}

#[cfg(test)]
mod tests {
    use netkv_ir::MatchKind::{Exact, Lpm, Optional, Range, Ternary};
    use netkv_ir::{Match, Value};

    use super::*;
    use crate::random::Random;
    use crate::tables::reference_model;

    #[test]
    fn bit_planes_equal_a_linear_search() {
        let mut random = Random::new(21);
        let kinds: [&[MatchKind]; 8] = [
            &[Ternary],
            &[Range],
            &[Optional],
            &[Ternary, Range, Optional],
            &[Range, Range, Exact],
            &[Lpm, Ternary, Exact],
            &[Exact, Lpm, Range],
            &[Optional, Lpm, Optional, Lpm],
        ];
        for round in 0..80 {
            let keys = reference_model::keys(&mut random, kinds[round % 8]);
            // Small tables alternate between the two search structures.
            let entries = if round % 3 == 0 { 40 } else { 300 };
            let hits = reference_model::compare_with_index(&mut random, &keys, 1_500, entries);
            assert!(hits > 1_500, "{hits} of 3000 lookups hit, {keys:?}");
        }
    }

    fn table(keys: &[(u32, MatchKind)]) -> PriorityIndex {
        let key = |(width, kind): &(u32, MatchKind)| TableKey {
            name: String::new(),
            width: *width,
            kind: *kind,
        };
        PriorityIndex::new(&keys.iter().map(key).collect::<Vec<_>>())
    }

    fn range(width: u32, low: u64, high: u64) -> Row {
        let value = |value| Value::new(width, u128::from(value));
        Row::new(&[width], &[Match::Range(value(low), value(high))])
    }

    fn ternary(value: u128, mask: u128) -> Row {
        let wide = |value| Value::new(128, value);
        Row::new(&[128], &[Match::Ternary(wide(value & mask), wide(mask))])
    }

    fn wide(random: &mut Random) -> u128 {
        u128::from(random.next()) << 64 | u128::from(random.next())
    }

    /// Number of rows or lines of groups that a lookup examines.
    fn examined(table: &PriorityIndex, key: &[u64]) -> usize {
        let mut count = 0;
        table.find_counted(key, || count += 1);
        count
    }

    fn groups(table: &PriorityIndex) -> usize {
        match &table.search {
            Search::Scan(_) => 0,
            Search::Blocks(blocks) => blocks.iter().map(|block| block.groups.len()).sum(),
        }
    }

    /// The winner of a linear search.
    fn scan(table: &PriorityIndex, key: &[u64]) -> Option<u32> {
        let rows = (0..).zip(&table.rows.0).filter_map(|(id, row)| Some((id, row.as_ref()?)));
        let hits = rows.filter(|(_, (_, row))| row.matches(key));
        hits.min_by_key(|(_, (rank, _))| *rank).map(|(id, _)| id)
    }

    /// Asserts the invariants of a table.
    fn check(table: &mut PriorityIndex) {
        let groups = groups(table);
        let Search::Blocks(blocks) = &mut table.search else { return };
        let (mut last, mut rows) = (None, 0);
        for block in blocks {
            let (count, end) = block.check(&table.layout, &table.rows, last);
            (last, rows) = (end, rows + count);
        }
        assert_eq!(rows, table.len);
        assert!(rows * 5 + 2 * GROUP_ROWS >= groups * GROUP_ROWS, "groups are well filled");
    }

    #[test]
    fn rows_stay_in_order_for_any_order_of_priorities() {
        type Priority = fn(u32, &mut Random) -> u32;
        let orders: [Priority; 5] = [
            |_, _| 7,
            |round, _| round + 1,
            |round, _| 1_000_000 - round,
            |_, random| random.between(1, 1 << 30) as u32,
            |_, random| random.between(1, 8) as u32,
        ];
        for (seed, order) in orders.iter().enumerate() {
            let mut random = Random::new(seed as u64);
            let mut table = table(&[(16, Range)]);
            let mut installed = Vec::new();
            for id in 0..9_000 {
                let low = random.between(0, 0xffff);
                let high = random.between(low, (low + 300).min(0xffff));
                table.insert(range(16, low, high), order(id, &mut random), id);
                installed.push(id);
                let key = [random.between(0, 0xffff)];
                if id % 40 == 0 {
                    assert_eq!(table.find(&key), scan(&table, &key));
                }
            }
            check(&mut table);
            while !installed.is_empty() {
                let at = random.between(0, installed.len() as u64 - 1) as usize;
                table.remove(installed.swap_remove(at));
                let key = [random.between(0, 0xffff)];
                if installed.len() % 40 == 0 {
                    assert_eq!(table.find(&key), scan(&table, &key));
                }
                if installed.len() % 1_000 == 0 {
                    check(&mut table);
                }
            }
            assert_eq!(table.find(&[0]), None);
        }
    }

    #[test]
    fn many_different_masks_need_few_probes() {
        let mut random = Random::new(1);
        let mut table = table(&[(128, Ternary)]);
        for id in 0..10_000 {
            let row = ternary(wide(&mut random), wide(&mut random) | wide(&mut random));
            table.insert(row, random.between(1, 1 << 20) as u32, id);
        }
        let mut total = 0;
        for id in 0..500 {
            let row = table.rows.row(id);
            let (value, mask) = (&row.value, &row.mask);
            let key = [0, 1].map(|word| value[word] | (random.next() & !mask[word]));
            assert_eq!(table.find(&key), scan(&table, &key));
            total += examined(&table, &key);
        }
        assert!(total < 500 * 20, "{total} groups examined for 500 keys, {}", groups(&table));
    }

    #[test]
    fn ranges_with_one_first_byte_are_compared_by_words() {
        let mut random = Random::new(2);
        let mut table = table(&[(32, Range)]);
        // All ranges cross the same boundary of the first byte, which thus excludes none of them.
        for id in 0..10_000 {
            let middle = 1 << 31;
            let row =
                range(32, middle - random.between(1, 1 << 20), middle + random.between(1, 1 << 20));
            table.insert(row, 1 + id, id);
        }
        for _ in 0..200 {
            let key = [(1 << 31) + random.between(0, 3 << 20) - (3 << 19)];
            assert_eq!(table.find(&key), scan(&table, &key));
            assert!(examined(&table, &key) <= groups(&table));
        }
        assert!(groups(&table) <= 10_000 / GROUP_ROWS + 2, "rows that come in order fill groups");
    }

    #[test]
    fn a_shrinking_table_frees_its_groups() {
        let mut random = Random::new(4);
        let mut table = table(&[(16, Range)]);
        for id in 0..5_000 {
            table.insert(range(16, id, id + 10), random.between(1, 50) as u32, id as u32);
        }
        for id in 0..4_900 {
            table.remove(id);
        }
        assert!(groups(&table) <= 9, "{} groups for 100 rows", groups(&table));
        (4_900..4_990).for_each(|id| table.remove(id));
        assert_eq!(groups(&table), 0, "a few rows need none");
        assert_eq!(table.find(&[4_995]), scan(&table, &[4_995]));
    }
}
