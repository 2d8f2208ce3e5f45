//! A table by key that takes little more than what it holds, however many keys there are.
//!
//! A key of the keyspace is kept as its id, 8 bytes instead of 16. Entries lie in buckets, by the
//! upper bits of the key; a bucket is sorted and grows by a few entries at a time. If buckets become
//! long on average, each is split in two: no step ever copies the whole table, so its most memory is
//! no more than what it has. Other keys, which few racks have, are in a map.

use std::collections::HashMap;

use crate::keys::{Key, key_id, key_of, scrambled};

/// Entries by which a bucket grows.
const STEP: usize = 8;
/// Entries of a bucket, on average, from which on all buckets are split.
const MAX_AVERAGE: usize = 128;

/// Values by key. See the module.
#[derive(Debug, Clone)]
pub struct KeyTable<V> {
    /// By the upper `bits` bits of the key; each is sorted by the key.
    buckets: Vec<Vec<(u64, V)>>,
    bits: u32,
    /// Entries in the buckets.
    len: usize,
    /// Of keys that are none of the keyspace.
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<&V> {
        if key_id(key).is_none() {
            return self.others.get(key);
        }
        let bucket = &self.buckets[self.bucket(key)];
        place(bucket, key).ok().map(|at| &bucket[at].1)
    }

    /// Sets the value of a key; what it was before.
    pub fn insert(&mut self, key: Key, value: V) -> Option<V> {
        let Some(id) = key_id(&key) else { return self.others.insert(key, value) };
        let at = self.bucket(&key);
        let bucket = &mut self.buckets[at];
        match place(bucket, &key) {
            Ok(at) => Some(std::mem::replace(&mut bucket[at].1, value)),
            Err(at) => {
                if bucket.len() == bucket.capacity() {
                    bucket.reserve_exact(STEP);
                }
                bucket.insert(at, (id, value));
                self.len += 1;
                if self.len > MAX_AVERAGE * self.buckets.len() {
                    self.split();
                }
                None
            }
        }
    }

    /// Takes a key out, with its value.
    pub fn remove(&mut self, key: &Key) -> Option<V> {
        if key_id(key).is_none() {
            return self.others.remove(key);
        }
        let at = self.bucket(key);
        let bucket = &mut self.buckets[at];
        let at = place(bucket, key).ok()?;
        self.len -= 1;
        let (_, value) = bucket.remove(at);
        if bucket.capacity() - bucket.len() > 2 * STEP {
            bucket.shrink_to(bucket.len() + STEP);
        }
        Some(value)
    }

    /// The greatest keys below `bound` (none: of all), in no order: about `wanted` of them, and all
    /// from the least one on; fewer only if there are no more. With them where they end: all keys
    /// below `bound` that are not below it were given. None: these were all.
    pub fn below(&self, bound: Option<&Key>, wanted: usize) -> (Vec<Key>, Option<Key>) {
        let mut found = Vec::new();
        let is_below = |key: &Key| bound.is_none_or(|bound| key < bound);
        let last = bound.map_or(self.buckets.len() - 1, |bound| self.bucket(bound));
        let mut first = last + 1;
        while first > 0 && found.len() < wanted {
            first -= 1;
            found.extend(self.buckets[first].iter().map(of).filter(is_below));
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
            // Both anew: what is left of the old one would keep its memory.
            split.extend([bucket[..middle].to_vec(), bucket[middle..].to_vec()]);
        }
        self.buckets = split;
    }
}

/// Where a key of the keyspace is in its bucket, or belongs.
fn place<V>(bucket: &[(u64, V)], key: &Key) -> Result<usize, usize> {
    bucket.binary_search_by_key(&prefix(key), |(id, _)| scrambled(*id))
}

fn of<V>((id, _): &(u64, V)) -> Key {
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

    /// A key of the keyspace, or another one.
    fn any(number: u64) -> Key {
        let mut key = key_of(number / 2);
        if number % 2 == 1 {
            key[15] ^= 0x40;
        }
        key
    }

    #[test]
    fn it_does_what_an_ordered_map_does() {
        let mut random = Random::new(7, 0);
        let (mut table, mut model) = (KeyTable::default(), BTreeMap::new());
        for round in 0..200_000u64 {
            let key = any(random.below(20_000));
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
    fn all_keys_come_in_portions_from_the_greatest_to_the_least() {
        for (keys, wanted) in [(0, 5), (1, 5), (300, 1000), (30_000, 1000), (30_000, 1)] {
            let mut table = KeyTable::default();
            let mut all: Vec<Key> = (0..keys).map(any).collect();
            for key in &all {
                table.insert(*key, ());
            }
            all.sort_unstable();
            let (mut told, mut bound) = (Vec::new(), None);
            loop {
                let (mut keys, end) = table.below(bound.as_ref(), wanted);
                assert!(keys.len() >= wanted.min(100) || end.is_none());
                keys.sort_unstable_by(|a, b| b.cmp(a));
                told.extend(keys);
                bound = end;
                if end.is_none() {
                    break;
                }
            }
            told.reverse();
            assert!(told == all, "{keys} keys, {wanted} at a time");
        }
    }

    #[test]
    fn it_takes_little_more_than_its_entries() {
        let mut table = KeyTable::default();
        for id in 0..500_000 {
            table.insert(key_of(id), 0u64);
        }
        let room = |table: &KeyTable<u64>| {
            let entries: usize = table.buckets.iter().map(Vec::capacity).sum();
            entries * size_of::<(u64, u64)>() + table.buckets.capacity() * size_of::<Vec<()>>()
        };
        assert!(room(&table) < 500_000 * 19, "{} bytes a key", room(&table) / 500_000);
        for id in 0..450_000 {
            table.remove(&key_of(id));
        }
        assert!(room(&table) < 500_000 * 8, "memory is given back");
    }
}
