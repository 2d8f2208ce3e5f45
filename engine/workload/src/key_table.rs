//! A map from keys to values with a small memory overhead, for any number of keys.
//!
//! A key of the keyspace is stored as its id, in 8 bytes instead of 16. Entries are in buckets by
//! the upper bits of the key. A bucket is sorted and grows by a few entries at a time. If the
//! average bucket becomes too long, each bucket is split in two, one after the other. So there is
//! never a second copy of the table. Other keys, which few racks have, are in a hash map.

use std::collections::HashMap;

use crate::keys::{Key, key_id, key_of, scrambled};

/// Number of entries by which a bucket grows.
const GROWTH: usize = 8;
/// Maximum average number of entries of a bucket. Beyond it all buckets are split.
const MAX_AVERAGE_ENTRIES: usize = 128;

/// A map from keys to values.
#[derive(Debug, Clone)]
pub struct KeyTable<V> {
    /// Buckets by the upper `bits` bits of the key, each sorted by key.
    buckets: Vec<Vec<(u64, V)>>,
    bits: u32,
    /// Number of entries in the buckets.
    len: usize,
    /// Entries of keys outside the keyspace.
    others: HashMap<Key, V>,
}

impl<V> Default for KeyTable<V> {
    fn default() -> Self {
        Self { buckets: vec![Vec::new()], bits: 0, len: 0, others: HashMap::new() }
    }
}

impl<V: Copy> KeyTable<V> {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.len + self.others.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &Key) -> Option<&V> {
        if self.is_empty() {
            return None;
        }
        if key_id(key).is_none() {
            return self.others.get(key);
        }
        let bucket = &self.buckets[self.bucket(key)];
        position(bucket, key).ok().map(|at| &bucket[at].1)
    }

    /// Sets the value of a key. Returns the previous one.
    pub fn insert(&mut self, key: Key, value: V) -> Option<V> {
        let Some(id) = key_id(&key) else { return self.others.insert(key, value) };
        let at = self.bucket(&key);
        let bucket = &mut self.buckets[at];
        match position(bucket, &key) {
            Ok(at) => Some(std::mem::replace(&mut bucket[at].1, value)),
            Err(at) => {
                if bucket.len() == bucket.capacity() {
                    bucket.reserve_exact(GROWTH);
                }
                bucket.insert(at, (id, value));
                self.len += 1;
                if self.len > MAX_AVERAGE_ENTRIES * self.buckets.len() {
                    self.split();
                }
                None
            }
        }
    }

    /// Removes a key. Returns its value.
    #[inline]
    pub fn remove(&mut self, key: &Key) -> Option<V> {
        if self.is_empty() {
            return None;
        }
        if key_id(key).is_none() {
            return self.others.remove(key);
        }
        let at = self.bucket(key);
        let bucket = &mut self.buckets[at];
        let at = position(bucket, key).ok()?;
        self.len -= 1;
        let (_, value) = bucket.remove(at);
        if bucket.capacity() - bucket.len() > 2 * GROWTH {
            bucket.shrink_to(bucket.len() + GROWTH);
        }
        Some(value)
    }

    /// The largest keys below `bound` (none: of all keys), in no order. There are about `wanted`,
    /// and fewer only if no more exist. Also returns the lower bound of these keys, which is
    /// `bound` of the next call; none at the end.
    pub fn below(&self, bound: Option<&Key>, wanted: usize) -> (Vec<Key>, Option<Key>) {
        let mut found = Vec::new();
        let is_below = |key: &Key| bound.is_none_or(|bound| key < bound);
        let last = bound.map_or(self.buckets.len() - 1, |bound| self.bucket(bound));
        let mut first = last + 1;
        while first > 0 && found.len() < wanted {
            first -= 1;
            found.extend(self.buckets[first].iter().map(key_of_entry).filter(is_below));
        }
        let end = (first > 0).then(|| {
            let mut end = Key::default();
            end[..8].copy_from_slice(&((first as u64) << (64 - self.bits)).to_be_bytes());
            end
        });
        let others = self.others.keys().filter(|key| end.is_none_or(|end| **key >= end));
        found.extend(others.filter(|key| is_below(key)));
        (found, end)
    }

    fn bucket(&self, key: &Key) -> usize {
        match self.bits {
            0 => 0,
            bits => (prefix(key) >> (64 - bits)) as usize,
        }
    }

    fn split(&mut self) {
        self.bits += 1;
        let bit = 64 - self.bits;
        let mut split = Vec::with_capacity(2 * self.buckets.len());
        for bucket in std::mem::take(&mut self.buckets) {
            let middle = bucket.partition_point(|(id, _)| scrambled(*id) >> bit & 1 == 0);
            // Both parts are copied: a truncated bucket would keep its memory.
            split.extend([bucket[..middle].to_vec(), bucket[middle..].to_vec()]);
        }
        self.buckets = split;
    }
}

/// The position of a key of the keyspace in its bucket, or the one to insert it at.
fn position<V>(bucket: &[(u64, V)], key: &Key) -> Result<usize, usize> {
    bucket.binary_search_by_key(&prefix(key), |(id, _)| scrambled(*id))
}

fn key_of_entry<V>((id, _): &(u64, V)) -> Key {
    key_of(*id)
}

fn prefix(key: &Key) -> u64 {
    let (first, _) = key.split_first_chunk().expect("a key has 16 bytes");
    u64::from_be_bytes(*first)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Random;

    /// A key of the keyspace for an even number, and another key for an odd one.
    fn any_key(number: u64) -> Key {
        let mut key = key_of(number / 2);
        if number % 2 == 1 {
            key[15] ^= 0x40;
        }
        key
    }

    #[test]
    fn it_behaves_like_an_ordered_map() {
        let mut random = Random::new(7, 0);
        let (mut table, mut model) = (KeyTable::default(), BTreeMap::new());
        for round in 0..200_000u64 {
            let key = any_key(random.below(20_000));
            match random.below(4) {
                0 => assert_eq!(table.remove(&key), model.remove(&key)),
                1 => assert_eq!(table.get(&key), model.get(&key)),
                _ => assert_eq!(table.insert(key, round), model.insert(key, round)),
            }
            assert_eq!(table.len(), model.len());
        }
        assert!(table.bits > 3, "buckets were split");
    }

    #[test]
    fn keys_are_listed_in_portions_in_descending_order() {
        for (keys, wanted) in [(0, 5), (1, 5), (300, 1000), (30_000, 1000), (30_000, 1)] {
            let mut table = KeyTable::default();
            let mut all: Vec<Key> = (0..keys).map(any_key).collect();
            for key in &all {
                table.insert(*key, ());
            }
            all.sort_unstable();
            let (mut listed, mut bound) = (Vec::new(), None);
            loop {
                let (mut keys, end) = table.below(bound.as_ref(), wanted);
                assert!(keys.len() >= wanted.min(100) || end.is_none());
                keys.sort_unstable_by(|a, b| b.cmp(a));
                listed.extend(keys);
                bound = end;
                if end.is_none() {
                    break;
                }
            }
            listed.reverse();
            assert!(listed == all, "{keys} keys, {wanted} at a time");
        }
    }

    #[test]
    fn its_memory_overhead_is_small() {
        let mut table = KeyTable::default();
        for id in 0..500_000 {
            table.insert(key_of(id), 0u64);
        }
        let allocated_bytes = |table: &KeyTable<u64>| {
            let entries: usize = table.buckets.iter().map(Vec::capacity).sum();
            entries * size_of::<(u64, u64)>() + table.buckets.capacity() * size_of::<Vec<()>>()
        };
        assert!(
            allocated_bytes(&table) < 500_000 * 19,
            "{} bytes a key",
            allocated_bytes(&table) / 500_000
        );
        for id in 0..450_000 {
            table.remove(&key_of(id));
        }
        assert!(allocated_bytes(&table) < 500_000 * 8, "memory is given back");
    }
}
