//! An exact-match table: a hash table with open addressing and twice as many slots as entries.

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
    for part in key.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        hash = (hash.rotate_left(5) ^ u64::from_be_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    hash
}

impl<const KEY: usize, V: Copy> Table<KEY, V> {
    /// An empty table for up to `capacity` entries.
    pub fn new(capacity: u32) -> Self {
        let slots = (2 * capacity as usize).next_power_of_two().max(2);
        Self {
            slots: vec![Slot { key: [0; KEY], value: None }; slots].into(),
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// The slot of a key, or the free slot in which it would be inserted.
    #[inline]
    fn slot(&self, key: &[u8; KEY]) -> usize {
        let mut at = (hash(key) >> self.shift) as usize;
        while self.slots[at].value.is_some() && self.slots[at].key != *key {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// Adds or replaces an entry. The number of entries must not exceed the capacity.
    pub fn insert(&mut self, key: [u8; KEY], value: V) {
        let at = self.slot(&key);
        self.slots[at] = Slot { key, value: Some(value) };
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &[u8; KEY]) -> Option<V> {
        self.slots[self.slot(key)].value
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
    }
}
