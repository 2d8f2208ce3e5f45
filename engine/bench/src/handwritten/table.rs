//! An exact-match table: a hash table with open addressing and twice as many slots as entries.

use std::hint::black_box;

/// A map from keys of `KEY` bytes to values.
pub struct Table<const KEY: usize, V> {
    slots: Box<[Slot<KEY, V>]>,
    /// The right shift that converts a hash to a slot number.
    shift: u32,
}

#[derive(Clone, Copy)]
struct Slot<const KEY: usize, V> {
    key: [u8; KEY],
    value: Option<V>,
}

/// A hash with one multiplication for every eight bytes. Its high bits depend on all bytes.
#[inline]
fn hash(key: &[u8]) -> u64 {
    let mut hash = 0u64;
    let (words, rest) = key.as_chunks::<8>();
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words = words.iter().map(|word| u64::from_be_bytes(*word));
    let has_rest = !key.len().is_multiple_of(8);
    for word in words.chain(has_rest.then_some(rest)) {
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    hash
}

/// Number of keys that are looked up together.
pub(crate) const GROUP: usize = 8;

impl<const KEY: usize, V: Copy> Table<KEY, V> {
    /// An empty table for up to `capacity` entries.
    pub fn new(capacity: u32) -> Self {
        let slots = (2 * capacity as usize).next_power_of_two().max(2);
        Self {
            slots: vec![Slot { key: [0; KEY], value: None }; slots].into(),
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// The slot at which the search for a key begins.
    #[inline]
    fn first_slot(&self, key: &[u8; KEY]) -> usize {
        (hash(key) >> self.shift) as usize
    }

    /// The slot of a key, or the free slot in which it would be inserted. The search begins at
    /// `at`.
    #[inline]
    fn slot(&self, mut at: usize, key: &[u8; KEY]) -> usize {
        while self.slots[at].value.is_some() && self.slots[at].key != *key {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Adds or replaces an entry. The number of entries must not exceed the capacity.
    pub fn insert(&mut self, key: [u8; KEY], value: V) {
        let at = self.slot(self.first_slot(&key), &key);
        self.slots[at] = Slot { key, value: Some(value) };
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &[u8; KEY]) -> Option<V> {
        self.slots[self.slot(self.first_slot(key), key)].value
    }

    /// The values of several keys. All first slots are read before one of them is used, so that
    /// their misses in the processor's caches overlap.
    #[inline]
    pub(crate) fn get_group(&self, keys: &[Option<[u8; KEY]>; GROUP]) -> [Option<V>; GROUP] {
        let (mut first, mut loaded) = ([0; GROUP], 0);
        for (at, key) in first.iter_mut().zip(keys) {
            if let Some(key) = key {
                *at = self.first_slot(key);
                loaded ^= self.slots[*at].key[0];
            }
        }
        black_box(loaded);
        let mut values = [None; GROUP];
        for ((value, at), key) in values.iter_mut().zip(first).zip(keys) {
            if let Some(key) = key {
                *value = self.slots[self.slot(at, key)].value;
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_inserted_keys_are_found() {
        let mut table = Table::<16, u32>::new(1000);
        let key = |number: u32| u128::from(number).to_be_bytes();
        (0..1000).for_each(|number| table.insert(key(number), number));
        assert!((0..1000).all(|number| table.get(&key(number)) == Some(number)));
        assert!((1000..3000).all(|number| table.get(&key(number)).is_none()));
        let numbers = [0, 999, 1000, 7, 2000, 8, 9, 10];
        let mut keys = numbers.map(|number| Some(key(number)));
        keys[7] = None;
        let expected = [Some(0), Some(999), None, Some(7), None, Some(8), Some(9), None];
        assert_eq!(table.get_group(&keys), expected);
    }
}
