//! Which records a store has at hand (its caches, its memory table), and reads for less.
//!
//! A record that is read or written takes a place that its key decides, and stays until another
//! takes that place. So a record that comes back before about as many others as there are places
//! were asked for is probably still there: close to least recently used, at one look per request.

use netkv_wire::{Key, crc32};
use netkv_workload::mix64;

/// The places of one store.
#[derive(Debug, Clone, Default)]
pub(super) struct Warmth {
    /// Tags by place; a number of places that is a power of two, or none.
    places: Box<[u32]>,
}

/// In a place that no record has taken.
const EMPTY: u32 = 0;

impl Warmth {
    /// A store that has `records` at hand, rounded up to a power of two; 0: none.
    pub(super) fn new(records: usize) -> Self {
        let places = if records == 0 { 0 } else { records.next_power_of_two() };
        Self { places: vec![EMPTY; places].into() }
    }

    /// A record is asked for: whether it was at hand. It is from now on.
    #[inline]
    pub(super) fn touch(&mut self, key: Key) -> bool {
        if self.places.is_empty() {
            return false;
        }
        // The upper bits of the sum are alike for all keys of a server.
        let place = crc32(&key) as usize & (self.places.len() - 1);
        let tag = tag(&key);
        std::mem::replace(&mut self.places[place], tag) == tag
    }
}

/// What a place keeps of a key, a quarter of its bytes: a hash that does not depend on the place.
/// Two keys of one place have the same tag once in 4 billion pairs.
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
        let left_after = |others: u64| {
            let mut warmth = Warmth::new(1000);
            let mut comes_back_warm = |round: u64| {
                let key = key_of(round * 1_000_000);
                assert!(!warmth.touch(key));
                assert!(warmth.touch(key));
                for other in 1..=others {
                    warmth.touch(key_of(round * 1_000_000 + other));
                }
                warmth.touch(key)
            };
            (0..100).filter(|round| comes_back_warm(*round)).count()
        };
        assert!(left_after(100) > 80);
        assert!(left_after(5000) < 10);
    }

    #[test]
    fn a_store_without_room_has_nothing_at_hand() {
        let mut warmth = Warmth::new(0);
        assert!(!warmth.touch(key_of(7)));
        assert!(!warmth.touch(key_of(7)));
    }

    #[test]
    fn a_place_takes_four_bytes() {
        let warmth = Warmth::new(262_144);
        assert_eq!(size_of_val(&*warmth.places), 1 << 20);
    }

    #[test]
    fn another_key_of_the_same_place_is_not_at_hand() {
        let mut warmth = Warmth::new(1);
        for id in 0..10_000 {
            assert!(!warmth.touch(key_of(id)));
            assert!(warmth.touch(key_of(id)));
        }
    }
}
