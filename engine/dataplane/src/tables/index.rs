//! Lookup of entries by key.
//!
//! A key is the concatenation of its fields. Each field starts at a new word.

use netkv_ir::{Match, MatchKind, TableKey};

use super::exact_map::{ExactMap, SlotAction};
use super::prefix_trie::PrefixTrie;
use super::priority_index::PriorityIndex;
use super::row::Row;
use crate::wide;

/// The kind of a table, which determines its lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableKind {
    Exact,
    /// One lpm key: the longest prefix wins.
    Lpm,
    /// Ternary, optional or range keys: the largest priority wins.
    Priority,
}

/// The lookup structure of a table.
#[derive(Debug)]
pub(crate) struct Index {
    widths: Box<[u32]>,
    words: usize,
    search: Search,
}

#[derive(Debug)]
enum Search {
    Exact(ExactMap),
    /// The longest prefix wins.
    Lpm {
        key: usize,
        prefixes: PrefixTrie,
    },
    /// The largest priority wins, and the oldest of equal ones.
    Priority(Box<PriorityIndex>),
}

impl Index {
    /// An empty index. `data_words` is the number of words of the longest action data.
    pub(crate) fn new(kind: TableKind, keys: &[TableKey], data_words: usize) -> Self {
        let widths: Box<[u32]> = keys.iter().map(|key| key.width).collect();
        let words = widths.iter().map(|width| wide::words(*width)).sum();
        let search = match kind {
            TableKind::Exact => Search::Exact(ExactMap::new(&widths, data_words)),
            TableKind::Lpm => {
                let key = keys.iter().position(|key| key.kind == MatchKind::Lpm).unwrap_or(0);
                Search::Lpm { key, prefixes: PrefixTrie::new(&widths, key) }
            }
            TableKind::Priority => Search::Priority(Box::new(PriorityIndex::new(keys))),
        };
        Self { widths, words, search }
    }

    /// Id of the entry that wins for these key words.
    #[inline]
    pub(crate) fn find(&self, key: &[u64]) -> Option<u32> {
        debug_assert_eq!(key.len(), self.words);
        match &self.search {
            // A table without keys has no entries.
            Search::Exact(_) if self.words == 0 => None,
            Search::Exact(map) => map.get(key),
            Search::Lpm { prefixes, .. } => prefixes.find(key),
            Search::Priority(rows) => rows.find(key),
        }
    }

    /// The hash table of an exact-match table.
    pub(crate) fn exact(&self) -> Option<&ExactMap> {
        if let Search::Exact(map) = &self.search { Some(map) } else { None }
    }

    /// Changes the action of an entry.
    pub(crate) fn update(&mut self, matches: &[Match], id: u32, slot_action: SlotAction<'_>) {
        if let Search::Exact(_) = &self.search {
            self.insert(matches, 0, id, slot_action);
        }
    }

    /// Adds an entry.
    pub(crate) fn insert(
        &mut self,
        matches: &[Match],
        priority: u32,
        id: u32,
        slot_action: SlotAction<'_>,
    ) {
        let row = Row::new(&self.widths, matches);
        match &mut self.search {
            Search::Exact(map) => map.insert(&row.value, id, slot_action),
            Search::Lpm { key, prefixes } => {
                prefixes.insert(&row.value, prefix_length(&matches[*key]), id);
            }
            Search::Priority(rows) => rows.insert(row, priority, id),
        }
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, matches: &[Match], id: u32) {
        match &mut self.search {
            Search::Exact(map) => map.remove(&Row::new(&self.widths, matches).value),
            Search::Lpm { prefixes, .. } => prefixes.remove(id),
            Search::Priority(rows) => rows.remove(id),
        }
    }
}

fn prefix_length(one: &Match) -> u32 {
    if let Match::Lpm(_, length) = one { *length } else { 0 }
}
