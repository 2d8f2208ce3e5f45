//! When values were replaced: for how long a stale value was obsolete.
//!
//! The checker decides whether a read is stale. This module only remembers when the write that
//! followed a write was acknowledged.

use std::collections::VecDeque;

use netkv_checker::{Observed, WriteId};
use netkv_wire::Key;
use rustc_hash::FxHashMap;

use crate::Nanos;

/// Maximum number of replaced values, and of keys, that are remembered. Beyond it, the oldest
/// replaced values are forgotten, and all last writes of keys.
const MAX_KNOWN: usize = 1 << 14;

/// The acknowledged writes of all keys.
#[derive(Debug, Default)]
pub(crate) struct Staleness {
    /// The last write of a key, and when it was acknowledged.
    last: FxHashMap<Key, (WriteId, Nanos)>,
    /// When a value was replaced: the acknowledgement of the next write of its key.
    replaced: FxHashMap<(Key, WriteId), Nanos>,
    order: VecDeque<(Key, WriteId)>,
}

impl Staleness {
    /// A write was acknowledged.
    pub(crate) fn written(&mut self, now: Nanos, key: &Key, id: WriteId) {
        if self.last.len() >= MAX_KNOWN && !self.last.contains_key(key) {
            self.last.clear();
        }
        let before = self.last.insert(*key, (id, now));
        let replaced = (*key, before.map_or(WriteId::INITIAL, |(id, _)| id));
        if self.order.len() == MAX_KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.replaced.remove(&oldest);
        }
        // Only the first time: after `clear`, a key seems to have its initial value.
        if let std::collections::hash_map::Entry::Vacant(entry) = self.replaced.entry(replaced) {
            entry.insert(now);
            self.order.push_back(replaced);
        }
    }

    /// For how long the value that a stale read returned had been replaced when the read began at
    /// `begun`; `None` if that is not known. A read without a value names no delete: it counts from
    /// the last write. A value whose replacement is forgotten counts from the oldest that is known:
    /// it was replaced before.
    pub(crate) fn age(&self, begun: Nanos, key: &Key, observed: Observed) -> Option<Nanos> {
        let since = match observed {
            Observed::Value(id) => match self.replaced.get(&(*key, id)) {
                Some(&since) => since,
                None if self.last.get(key).is_some_and(|(last, _)| *last == id) => return None,
                None => self.oldest_known()?,
            },
            Observed::NotFound => self.last.get(key)?.1,
            Observed::Garbage => return None,
        };
        begun.checked_sub(since)
    }

    /// When the oldest value that is known was replaced, if older ones are forgotten.
    fn oldest_known(&self) -> Option<Nanos> {
        let oldest = self.order.front().filter(|_| self.order.len() == MAX_KNOWN)?;
        self.replaced.get(oldest).copied()
    }
}

#[cfg(test)]
mod tests {
    use netkv_workload::key_of;

    use super::*;

    fn id(request: u32) -> WriteId {
        WriteId { client: 1, request }
    }

    #[test]
    fn age_counts_from_the_acknowledgement_of_the_next_write() {
        let mut staleness = Staleness::default();
        let (key, other) = (key_of(1), key_of(2));
        let age = |it: &Staleness, id| it.age(1_000, &key, Observed::Value(id));
        staleness.written(100, &key, id(1));
        staleness.written(150, &other, id(2));
        assert_eq!(age(&staleness, WriteId::INITIAL), Some(900));
        assert_eq!(age(&staleness, id(1)), None, "the last one");
        staleness.written(400, &key, id(3));
        staleness.written(700, &key, id(4));
        assert_eq!(age(&staleness, id(1)), Some(600));
        assert_eq!(age(&staleness, id(3)), Some(300));
        assert_eq!(staleness.age(500, &key, Observed::Value(id(3))), None, "replaced later");
        assert_eq!(staleness.age(800, &key, Observed::NotFound), Some(100));
    }

    #[test]
    fn a_limited_number_of_writes_is_known() {
        let mut staleness = Staleness::default();
        for request in 0..2 * MAX_KNOWN as u32 + 5 {
            staleness.written(u64::from(request), &key_of(u64::from(request) / 2), id(request));
        }
        assert!(staleness.last.len() <= MAX_KNOWN);
        // The replacement of the first value is forgotten: it is older than all that are known.
        let now = 10 * MAX_KNOWN as u64;
        let oldest = *staleness.replaced.values().min().unwrap();
        let age = |request: u32| {
            staleness.age(now, &key_of(u64::from(request) / 2), Observed::Value(id(request)))
        };
        assert_eq!(age(0), Some(now - oldest));
        assert_eq!(age(2 * MAX_KNOWN as u32 + 3), None, "the last one of its key");
        assert_eq!(staleness.order.len(), staleness.replaced.len());
        assert!(staleness.order.len() <= MAX_KNOWN);
    }
}
