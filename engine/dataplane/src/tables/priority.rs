//! Tables in which priority decides: ternary, range and optional keys, exact and lpm beside them.
//!
//! The winner is the entry with the largest priority among those that match, of equal ones the
//! oldest. Rows stand in that order in *blocks* of up to 64 groups of 64 rows; a block's bit
//! planes (see `planes`) tell with one AND per byte of the key which groups can have a match, and
//! with one more which of their rows do, 512 rows at a time. The first block with a match ends
//! the search. Why this structure:
//!
//! - its cost does not depend on what the masks and ranges are. Tuple space search (a hash map
//!   per mask) is as good only while masks are few: 10,000 different masks are 10,000 probes, and
//!   a range is many masks. Decision trees copy rules into several leaves, for overlapping rules
//!   without a bound, and a change can copy a subtree;
//! - where entries differ the summaries leave few groups over, so that the cost is that of a
//!   block's summary (one word per byte of the key) per 4,096 rows. In the worst case, when no
//!   byte alone tells groups apart, every line of 512 rows is looked into, which is still some
//!   fifty times less than trying the rows;
//! - a row comes or goes by setting its own bits: per byte of the key one for an exact byte, 256
//!   for one that it does not look at. Full groups and blocks split in halves, mostly empty ones
//!   are packed again, so all that is spread over many writes; there is nothing to rebuild at the
//!   next lookup, and writes and lookups may alternate as they like.
//!
//! The price is memory: 32 bytes per row and byte of the key, 160 for bytes of range keys, up to
//! two and a half times that when rows do not come in order of their priority.

use netkv_ir::{MatchKind, TableKey};

use super::block::{Block, GROUP_ROWS};
use super::row::Row;
use super::shape::Shape;

/// Up to this many rows are tried one after the other. Planes win from 20 to 40 rows on, and their
/// least size is 16 KiB per byte of the key.
const FEW: usize = 32;

/// Place of a row in the order of its table: largest priority first, then the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    below_largest: u32,
    age: u64,
}

/// The rows of a table with their ranks, by id of the entry.
#[derive(Debug, Default)]
pub(super) struct Rows(Vec<Option<(Rank, Row)>>);

impl Rows {
    fn installed(&self, id: u32) -> &(Rank, Row) {
        self.0[id as usize].as_ref().expect("the index names only installed entries")
    }

    pub(super) fn rank(&self, id: u32) -> Rank {
        self.installed(id).0
    }

    pub(super) fn row(&self, id: u32) -> &Row {
        &self.installed(id).1
    }
}

/// Entries of a table in which priority decides.
#[derive(Debug)]
pub(super) struct Priorities {
    shape: Shape,
    rows: Rows,
    len: usize,
    /// Entries installed so far.
    age: u64,
    search: Search,
}

#[derive(Debug)]
enum Search {
    /// Ids in order.
    Few(Vec<u32>),
    /// In order, none without rows.
    Many(Vec<Block>),
}

impl Priorities {
    /// A table with these keys.
    pub(super) fn new(keys: &[TableKey]) -> Self {
        let widths: Vec<u32> = keys.iter().map(|key| key.width).collect();
        let ranges: Vec<bool> = keys.iter().map(|key| key.kind == MatchKind::Range).collect();
        Self {
            shape: Shape::new(&widths, &ranges),
            rows: Rows::default(),
            len: 0,
            age: 0,
            search: Search::Few(Vec::new()),
        }
    }

    /// The first entry that matches this key.
    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<u32> {
        self.find_counted(key, || ())
    }

    /// As `find`; calls `visit` for each row or line of groups examined.
    #[inline]
    fn find_counted(&self, key: &[u64], mut visit: impl FnMut()) -> Option<u32> {
        match &self.search {
            Search::Few(ids) => ids.iter().copied().find(|id| {
                visit();
                self.rows.row(*id).matches(key)
            }),
            Search::Many(blocks) => {
                blocks.iter().find_map(|block| block.find(&self.shape, key, &mut visit))
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
            Search::Few(ids) => {
                let at = ids.partition_point(|other| self.rows.rank(*other) < rank);
                ids.insert(at, id);
                if ids.len() > FEW {
                    self.rebuild();
                }
            }
            Search::Many(blocks) => place(blocks, &self.shape, &self.rows, id),
        }
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, id: u32) {
        let rank = self.rows.rank(id);
        self.len -= 1;
        let mut sparse = false;
        match &mut self.search {
            Search::Few(ids) => ids.retain(|other| *other != id),
            Search::Many(blocks) => {
                let (block, group) = locate(blocks, rank);
                blocks[block].remove(&self.shape, &self.rows, group, id);
                if blocks[block].groups.is_empty() {
                    blocks.remove(block);
                }
                let groups: usize = blocks.iter().map(|block| block.groups.len()).sum();
                // Groups that are mostly empty cost lookups as full ones do.
                sparse = groups * GROUP_ROWS > 4 * self.len + GROUP_ROWS || self.len <= FEW / 2;
            }
        }
        self.rows.0[id as usize] = None;
        if sparse {
            self.rebuild();
        }
    }

    /// Builds the search for the rows that there are.
    fn rebuild(&mut self) {
        let installed = (0..).zip(&self.rows.0).filter_map(|(id, row)| Some((row.as_ref()?.0, id)));
        let mut order: Vec<(Rank, u32)> = installed.collect();
        order.sort_unstable();
        let ids = order.into_iter().map(|(_, id)| id);
        self.search = if self.len > FEW {
            let mut blocks = Vec::new();
            ids.for_each(|id| place(&mut blocks, &self.shape, &self.rows, id));
            Search::Many(blocks)
        } else {
            Search::Few(ids.collect())
        };
    }
}

/// Block and group where a row of this rank belongs.
fn locate(blocks: &[Block], rank: Rank) -> (usize, usize) {
    let block = blocks.partition_point(|block| block.groups[0].from <= rank).saturating_sub(1);
    let groups = &blocks[block].groups;
    (block, groups.partition_point(|group| group.from <= rank).saturating_sub(1))
}

/// Puts a row into its block, making room where there is none.
fn place(blocks: &mut Vec<Block>, shape: &Shape, rows: &Rows, id: u32) {
    let rank = rows.rank(id);
    if blocks.is_empty() {
        blocks.push(Block::new(shape, rank));
    }
    let (mut block, mut group) = locate(blocks, rank);
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
                blocks.push(Block::new(shape, rank));
                (block, group) = (block + 1, 0);
            }
            _ => {
                if blocks[block].is_full() {
                    let upper = blocks[block].split_off(shape);
                    blocks.insert(block + 1, upper);
                    (block, group) = locate(blocks, rank);
                }
                blocks[block].split_group(rows, group, rank);
                (block, group) = locate(blocks, rank);
            }
        }
    }
    blocks[block].add(shape, rows, group, id);
}

/// The group behind a group.
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
    use crate::tables::model;

    #[test]
    fn planes_answer_as_a_scan_of_all_entries_does() {
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
            let keys = model::keys(&mut random, kinds[round % 8]);
            // Small tables go back and forth between the two searches.
            let entries = if round % 3 == 0 { 40 } else { 300 };
            let hits = model::agree(&mut random, &keys, 1_500, entries);
            assert!(hits > 1_500, "{hits} of 3000 lookups hit, {keys:?}");
        }
    }

    fn table(keys: &[(u32, MatchKind)]) -> Priorities {
        let key = |(width, kind): &(u32, MatchKind)| TableKey {
            name: String::new(),
            width: *width,
            kind: *kind,
        };
        Priorities::new(&keys.iter().map(key).collect::<Vec<_>>())
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

    /// Rows or lines of groups examined for a key.
    fn examined(table: &Priorities, key: &[u64]) -> usize {
        let mut count = 0;
        table.find_counted(key, || count += 1);
        count
    }

    fn groups(table: &Priorities) -> usize {
        match &table.search {
            Search::Few(_) => 0,
            Search::Many(blocks) => blocks.iter().map(|block| block.groups.len()).sum(),
        }
    }

    /// The winner by trying all rows.
    fn scan(table: &Priorities, key: &[u64]) -> Option<u32> {
        let rows = (0..).zip(&table.rows.0).filter_map(|(id, row)| Some((id, row.as_ref()?)));
        let hits = rows.filter(|(_, (_, row))| row.matches(key));
        hits.min_by_key(|(_, (rank, _))| *rank).map(|(id, _)| id)
    }

    /// Checks what every table must hold to, whatever happened to it.
    fn check(table: &mut Priorities) {
        let groups = groups(table);
        let Search::Many(blocks) = &mut table.search else { return };
        let (mut last, mut rows) = (None, 0);
        for block in blocks {
            let (count, end) = block.check(&table.shape, &table.rows, last);
            (last, rows) = (end, rows + count);
        }
        assert_eq!(rows, table.len);
        assert!(rows * 5 + 2 * GROUP_ROWS >= groups * GROUP_ROWS, "groups are well filled");
    }

    #[test]
    fn thousands_of_rows_in_any_order_of_priorities_stay_in_order() {
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
    fn ten_thousand_masks_are_not_ten_thousand_probes() {
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
        // All cross the same boundary of the first byte, so that byte rules out none of them.
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
    fn a_table_that_shrinks_gives_its_groups_back() {
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
