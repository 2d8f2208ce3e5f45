//! When values were replaced: for how long a stale value was obsolete.
//!
//! The checker decides whether a read is stale. This module only remembers when a write that began
//! after the end of another one was acknowledged: then that one was replaced. Of writes that
//! overlap it is not known which one is the last.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use netkv_checker::{Observed, WriteId};
use netkv_wire::Key;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::Nanos;

/// Maximum number of replaced values, and of keys, that are remembered. Beyond it, the oldest
/// replaced values are forgotten, and all last writes of keys.
const MAX_KNOWN: usize = 1 << 14;

/// The acknowledged writes of all keys.
#[derive(Debug, Default)]
pub(crate) struct Staleness {
    /// The writes of a key that no other one has replaced, and when they were acknowledged, in that
    /// order.
    last: FxHashMap<Key, SmallVec<[(WriteId, Nanos); 1]>>,
    /// When a value was replaced: the first acknowledgement of a write that began later.
    replaced: FxHashMap<(Key, WriteId), Nanos>,
    order: VecDeque<(Key, WriteId)>,
}

impl Staleness {
    /// A write that began at `begun` was acknowledged.
    pub(crate) fn written(&mut self, begun: Nanos, now: Nanos, key: &Key, id: WriteId) {
        if self.last.len() >= MAX_KNOWN && !self.last.contains_key(key) {
            self.last.clear();
        }
        let Self { last, replaced, order } = self;
        let last = last.entry(*key).or_insert_with(|| smallvec![(WriteId::INITIAL, 0)]);
        last.retain(|(before, acknowledged)| {
            if begun <= *acknowledged && *before != WriteId::INITIAL {
                return true;
            }
            // Only the first time: after `clear`, a key seems to have its initial value.
            if let Entry::Vacant(entry) = replaced.entry((*key, *before)) {
                entry.insert(now);
                order.push_back((*key, *before));
            }
            false
        });
        last.push((id, now));
        while order.len() > MAX_KNOWN {
            if let Some(oldest) = order.pop_front() {
                replaced.remove(&oldest);
            }
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
                None if self.last(key).any(|(last, _)| last == id) => return None,
                None => self.oldest_known()?,
            },
            Observed::NotFound => self.last(key).last()?.1,
            Observed::Garbage => return None,
        };
        begun.checked_sub(since)
    }

    fn last(&self, key: &Key) -> impl Iterator<Item = (WriteId, Nanos)> {
        self.last.get(key).into_iter().flatten().copied()
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
        staleness.written(90, 100, &key, id(1));
        staleness.written(140, 150, &other, id(2));
        assert_eq!(age(&staleness, WriteId::INITIAL), Some(900));
        assert_eq!(age(&staleness, id(1)), None, "the last one");
        staleness.written(390, 400, &key, id(3));
        staleness.written(690, 700, &key, id(4));
        assert_eq!(age(&staleness, id(1)), Some(600));
        assert_eq!(age(&staleness, id(3)), Some(300));
        assert_eq!(staleness.age(500, &key, Observed::Value(id(3))), None, "replaced later");
        assert_eq!(staleness.age(800, &key, Observed::NotFound), Some(100));
    }

    #[test]
    fn overlapping_writes_do_not_replace_each_other() {
        let mut staleness = Staleness::default();
        let key = key_of(1);
        for (begun, now, request) in [(10, 50, 1), (20, 60, 2), (55, 100, 3)] {
            staleness.written(begun, now, &key, id(request));
        }
        let age = |it: &Staleness, request| it.age(1_000, &key, Observed::Value(id(request)));
        let initial = |it: &Staleness| it.age(1_000, &key, Observed::Value(WriteId::INITIAL));
        assert_eq!(initial(&staleness), Some(950), "by the first acknowledgement");
        assert_eq!(age(&staleness, 1), Some(900), "by the third, which began after its end");
        assert_eq!(age(&staleness, 2), None, "the third began before its end");
        staleness.written(101, 200, &key, id(4));
        assert_eq!(
            [1, 2, 3, 4].map(|it| age(&staleness, it)),
            [Some(900), Some(800), Some(800), None]
        );
    }

    #[test]
    fn a_limited_number_of_writes_is_known() {
        let mut staleness = Staleness::default();
        for request in 0..2 * MAX_KNOWN as u32 + 5 {
            let now = 10 * u64::from(request);
            staleness.written(now - now.min(1), now, &key_of(u64::from(request) / 2), id(request));
        }
        assert!(staleness.last.len() <= MAX_KNOWN);
        // The replacement of the first value is forgotten: it is older than all that are known.
        let now = 100 * MAX_KNOWN as u64;
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
