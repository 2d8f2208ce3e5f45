//! Finding an entry by its key.
//!
//! A key is the words of its fields one after the other, each field from a word of its own.

use netkv_ir::{Match, MatchKind, TableKey};
use rustc_hash::FxHashMap;

use super::TableKind;
use crate::wide;

/// A hash map on keys of a fixed number of words.
#[derive(Debug)]
pub(crate) enum WordMap {
    One(FxHashMap<u64, u32>),
    Two(FxHashMap<u128, u32>),
    Many(FxHashMap<Box<[u64]>, u32>),
}

impl WordMap {
    fn new(words: usize) -> Self {
        match words {
            1 => WordMap::One(FxHashMap::default()),
            2 => WordMap::Two(FxHashMap::default()),
            _ => WordMap::Many(FxHashMap::default()),
        }
    }

    #[inline]
    fn get(&self, key: &[u64]) -> Option<u32> {
        match self {
            WordMap::One(map) => map.get(&key[0]).copied(),
            WordMap::Two(map) => map.get(&two(key)).copied(),
            WordMap::Many(map) => map.get(key).copied(),
        }
    }

    fn insert(&mut self, key: &[u64], id: u32) {
        match self {
            WordMap::One(map) => map.insert(key[0], id),
            WordMap::Two(map) => map.insert(two(key), id),
            WordMap::Many(map) => map.insert(key.into(), id),
        };
    }

    fn remove(&mut self, key: &[u64]) {
        match self {
            WordMap::One(map) => map.remove(&key[0]),
            WordMap::Two(map) => map.remove(&two(key)),
            WordMap::Many(map) => map.remove(key),
        };
    }

    fn is_empty(&self) -> bool {
        match self {
            WordMap::One(map) => map.is_empty(),
            WordMap::Two(map) => map.is_empty(),
            WordMap::Many(map) => map.is_empty(),
        }
    }
}

#[inline]
fn two(key: &[u64]) -> u128 {
    u128::from(key[0]) | (u128::from(key[1]) << 64)
}

/// All entries with one prefix length.
#[derive(Debug)]
pub(crate) struct Prefixes {
    length: u32,
    mask: Box<[u64]>,
    map: WordMap,
}

/// An entry of a table where priority decides.
#[derive(Debug)]
pub(crate) struct Row {
    priority: u32,
    id: u32,
    /// Words under their masks; range keys have mask 0 here.
    value: Box<[u64]>,
    mask: Box<[u64]>,
    ranges: Box<[RowRange]>,
}

/// A range in a [`Row`].
#[derive(Debug)]
struct RowRange {
    from: usize,
    low: Box<[u64]>,
    high: Box<[u64]>,
}

impl Row {
    fn matches(&self, key: &[u64]) -> bool {
        key.iter().zip(&self.value).zip(&self.mask).all(|((key, value), mask)| key & mask == *value)
            && self.ranges.iter().all(|range| {
                in_range(&key[range.from..range.from + range.low.len()], &range.low, &range.high)
            })
    }
}

/// `low <= key <= high`, unsigned, equal lengths.
pub(crate) fn in_range(key: &[u64], low: &[u64], high: &[u64]) -> bool {
    wide::compare(low, key).is_le() && wide::compare(key, high).is_le()
}

/// The index of a table.
#[derive(Debug)]
pub(crate) struct Index {
    widths: Box<[u32]>,
    words: usize,
    search: Search,
}

#[derive(Debug)]
enum Search {
    Exact(WordMap),
    /// Longest prefix first.
    Lpm {
        key: usize,
        prefixes: Vec<Prefixes>,
    },
    /// Largest priority first, then the oldest.
    Priority(Vec<Row>),
}

impl Index {
    pub(crate) fn new(kind: TableKind, keys: &[TableKey]) -> Self {
        let widths: Box<[u32]> = keys.iter().map(|key| key.width).collect();
        let words = widths.iter().map(|width| wide::words(*width)).sum();
        let search = match kind {
            TableKind::Exact => Search::Exact(WordMap::new(words)),
            TableKind::Lpm => {
                let key = keys.iter().position(|key| key.kind == MatchKind::Lpm).unwrap_or(0);
                Search::Lpm { key, prefixes: Vec::new() }
            }
            TableKind::Priority => Search::Priority(Vec::new()),
        };
        Self { widths, words, search }
    }

    /// The entry that wins for these key words.
    #[inline]
    pub(crate) fn find(&self, key: &[u64]) -> Option<u32> {
        debug_assert_eq!(key.len(), self.words);
        match &self.search {
            // A table without keys has no entries.
            Search::Exact(_) if self.words == 0 => None,
            Search::Exact(map) => map.get(key),
            Search::Lpm { prefixes, .. } => prefixes.iter().find_map(|prefix| {
                // Keys of up to four words (IPv6 and an exact key) are masked on the stack.
                let mut short = [0u64; 4];
                if let Some(masked) = short.get_mut(..key.len()) {
                    mask_into(masked, key, &prefix.mask);
                    prefix.map.get(masked)
                } else {
                    let mut masked = vec![0; key.len()];
                    mask_into(&mut masked, key, &prefix.mask);
                    prefix.map.get(&masked)
                }
            }),
            Search::Priority(rows) => rows.iter().find(|row| row.matches(key)).map(|row| row.id),
        }
    }

    /// Adds an entry.
    pub(crate) fn insert(&mut self, matches: &[Match], priority: u32, id: u32) {
        let row = self.row(matches, priority, id);
        match &mut self.search {
            Search::Exact(map) => map.insert(&row.value, id),
            Search::Lpm { key, prefixes } => {
                let length = prefix_length(&matches[*key]);
                let at = prefixes.partition_point(|prefix| prefix.length > length);
                if prefixes.get(at).is_none_or(|prefix| prefix.length != length) {
                    let map = WordMap::new(self.words);
                    prefixes.insert(at, Prefixes { length, mask: row.mask, map });
                }
                prefixes[at].map.insert(&row.value, id);
            }
            Search::Priority(rows) => {
                let at = rows.partition_point(|other| other.priority >= priority);
                rows.insert(at, row);
            }
        }
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, matches: &[Match], id: u32) {
        let row = self.row(matches, 0, id);
        match &mut self.search {
            Search::Exact(map) => map.remove(&row.value),
            Search::Lpm { key, prefixes } => {
                let length = prefix_length(&matches[*key]);
                if let Some(at) = prefixes.iter().position(|prefix| prefix.length == length) {
                    prefixes[at].map.remove(&row.value);
                    if prefixes[at].map.is_empty() {
                        prefixes.remove(at);
                    }
                }
            }
            Search::Priority(rows) => rows.retain(|row| row.id != id),
        }
    }

    /// The matches as words under masks.
    fn row(&self, matches: &[Match], priority: u32, id: u32) -> Row {
        let (mut value, mut mask) = (vec![0; self.words], vec![0; self.words]);
        let mut ranges = Vec::new();
        let mut from = 0;
        for (one, width) in matches.iter().zip(&self.widths) {
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
        Row { priority, id, value: value.into(), mask: mask.into(), ranges: ranges.into() }
    }
}

fn mask_into(masked: &mut [u64], key: &[u64], mask: &[u64]) {
    for ((masked, key), mask) in masked.iter_mut().zip(key).zip(mask) {
        *masked = key & mask;
    }
}

fn prefix_length(one: &Match) -> u32 {
    if let Match::Lpm(_, length) = one { *length } else { 0 }
}
