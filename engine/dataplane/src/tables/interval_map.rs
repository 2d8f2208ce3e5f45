//! The entries of a table with one range or lpm key as disjoint intervals, for compiled code.
//!
//! A binary search in contiguous memory finds the interval of a key, and the action data follow its
//! head. It is a copy of the table, made anew when the table changes.

use netkv_ir::{Match, MatchKind};

use super::table::{Table, slot_action};
use crate::bits::mask;
use crate::wide;

/// Maximum number of entries. A copy of a larger table would take too long if packets and writes
/// alternate.
const MAX_ENTRIES: usize = 1_024;

/// Disjoint intervals that cover all keys of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalMap {
    starts: Vec<u64>,
    slots: Vec<u64>,
}

impl IntervalMap {
    /// The intervals of a table; none if it has too many entries. The table must be one of those
    /// that [`IntervalMap::slot_words_of`] accepts.
    pub(crate) fn new(table: &Table) -> Option<Self> {
        if table.len() > MAX_ENTRIES {
            return None;
        }
        let slot_words = Self::slot_words_of(table)?;
        let width = table.keys[0].width;
        let largest = mask(width);
        let mut starts = vec![0];
        for entry in table.entries() {
            let (first, last) = match &entry.matches[0] {
                Match::Range(low, high) => (low.words[0], high.words[0]),
                Match::Lpm(prefix, length) => {
                    let mut fixed = [0];
                    wide::set_bits(&mut fixed, width - length, width);
                    (prefix.words[0], prefix.words[0] | (largest & !fixed[0]))
                }
                _ => return None,
            };
            starts.push(first);
            starts.extend((last < largest).then(|| last + 1));
        }
        starts.sort_unstable();
        starts.dedup();
        // No entry begins or ends within an interval, so its first key stands for all of them.
        let mut winners: Vec<_> =
            starts.into_iter().map(|start| (start, table.lookup(&[start]))).collect();
        winners.dedup_by_key(|(_, winner)| *winner);
        let mut map = Self { starts: Vec::new(), slots: Vec::new() };
        for (start, winner) in winners {
            map.starts.push(start);
            let end = map.slots.len() + slot_words;
            if let Some(id) = winner {
                let action = slot_action(&table.action_index, &table.entry(id).kind);
                map.slots.push(((u64::from(id) + 1) << 32) | u64::from(action.action));
                map.slots.extend_from_slice(action.data);
            }
            map.slots.resize(end, 0);
        }
        Some(map)
    }

    /// Number of words of a slot; none if the entries of the table are no intervals, or if a hit
    /// needs more than the action data.
    pub(crate) fn slot_words_of(table: &Table) -> Option<usize> {
        let [key] = table.keys.as_slice() else { return None };
        let interval = matches!(key.kind, MatchKind::Range | MatchKind::Lpm) && key.width <= 64;
        (interval && table.hits_need_only_data()).then_some(1 + table.data_words)
    }

    /// The first key of each interval in ascending order. The first interval starts at 0.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// The slots of the intervals: `[head][data words]`. The head is 0 if no entry matches.
    /// Otherwise its low half is the index of the action in the table.
    pub fn slots(&self) -> &[u64] {
        &self.slots
    }
}
