//! Model of a store's memory cache (block cache, memory table), whose records are read faster.
//!
//! The cache is direct-mapped: a record that is read or written takes the slot that its key's hash
//! selects, until another record takes it. So a record is probably still cached if fewer other
//! records than there are slots were used since. This is close to LRU, with one access for each
//! request.

use netkv_wire::{Key, crc32};
use netkv_workload::mix64;

/// The cache of one store.
#[derive(Debug, Clone, Default)]
pub(super) struct Warmth {
    /// Tag of the record in each slot. The number of slots is a power of two, or 0.
    slots: Box<[u32]>,
}

/// The tag of an empty slot.
const EMPTY: u32 = 0;

impl Warmth {
    /// An empty cache of `records` slots, rounded up to a power of two; 0: no cache.
    pub(super) fn new(records: usize) -> Self {
        let slots = if records == 0 { 0 } else { records.next_power_of_two() };
        Self { slots: vec![EMPTY; slots].into() }
    }

    /// Adds a record that is read or written; returns whether it was cached before.
    #[inline]
    pub(super) fn touch(&mut self, key: Key) -> bool {
        if self.slots.is_empty() {
            return false;
        }
        // The upper bits select the partition, so they are similar for all keys of a server.
        let slot = crc32(&key) as usize & (self.slots.len() - 1);
        let tag = tag(&key);
        std::mem::replace(&mut self.slots[slot], tag) == tag
    }
}

/// The tag of a key: a hash of 32 bits that is independent of the slot. Of 4 billion pairs of keys
/// with the same slot, one has equal tags.
fn tag(key: &Key) -> u32 {
    let (halves, _) = key.as_chunks::<8>();
    let [first, second] = [halves[0], halves[1]].map(u64::from_be_bytes);
    let hash = (mix64(first ^ second.rotate_left(32)) >> 32) as u32;
    if hash == EMPTY { 1 } else { hash }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::key_of;

    #[test]
    fn a_record_stays_warm_until_as_many_others_were_read() {
        let warm_after = |others: u64| {
            let mut warmth = Warmth::new(1000);
            let mut stays_warm = |round: u64| {
                let key = key_of(round * 1_000_000);
                assert!(!warmth.touch(key));
                assert!(warmth.touch(key));
                for other in 1..=others {
                    warmth.touch(key_of(round * 1_000_000 + other));
                }
                warmth.touch(key)
            };
            (0..100).filter(|round| stays_warm(*round)).count()
        };
        assert!(warm_after(100) > 80);
        assert!(warm_after(5000) < 10);
    }

    #[test]
    fn a_cache_without_slots_is_always_cold() {
        let mut warmth = Warmth::new(0);
        assert!(!warmth.touch(key_of(7)));
        assert!(!warmth.touch(key_of(7)));
    }

    #[test]
    fn a_slot_has_four_bytes() {
        let warmth = Warmth::new(262_144);
        assert_eq!(size_of_val(&*warmth.slots), 1 << 20);
    }

    #[test]
    fn another_key_of_the_same_slot_is_cold() {
        let mut warmth = Warmth::new(1);
        for id in 0..10_000 {
            assert!(!warmth.touch(key_of(id)));
            assert!(warmth.touch(key_of(id)));
        }
    }
}
