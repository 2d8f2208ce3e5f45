//! The hash table of exact-match tables, for keys of a fixed number of words.
//!
//! It uses open addressing with linear probing in contiguous memory. The interpreter and compiled
//! code read the same memory. A lookup follows no pointer, and accesses one cache line if key and
//! action data fit in one. A removal shifts later entries back, so that there are no tombstones.
//! Most slots stay empty, so that a search mostly ends where it begins. One that goes on to the
//! next slot costs a branch that was predicted otherwise, a cache line that was not prefetched, and
//! those of the register cells that were prefetched for the wrong entry. With an eighth of the
//! slots in use this is 1 in 16 entries, with half of them 1 in 4. Empty slots take memory, but no
//! cache; so the larger a table, the more of its slots are used.
//!
//! A table with one short key has a slot for each key. A lookup there is a load.

use crate::memory::{LINE, Memory};
use crate::wide;

/// Number of words of a cache line.
const LINE_WORDS: usize = LINE / size_of::<u64>();

/// Maximum size of a table with a slot for each key, in bytes.
const MAX_DIRECT: usize = 64 << 10;

/// Maximum size in bytes to which a table grows when an eighth of its slots is in use, and when a
/// quarter is. To a larger one it grows when half of them are.
const GROWN_AT_EIGHTH: usize = 8 << 20;
const GROWN_AT_QUARTER: usize = 64 << 20;

/// A hash table from keys of a fixed number of words to entries with their action data.
///
/// A slot is `[head][key words][data words][padding]`. The head of an empty slot is 0. Otherwise,
/// its high half is the id of the entry plus 1, and its low half the index of the action in the
/// table.
#[derive(Debug)]
pub struct ExactMap {
    key_words: usize,
    slot_words: usize,
    /// Whether a key is the number of its slot.
    direct: bool,
    memory: Memory,
    /// Number of slots minus 1; a power of two minus 1.
    mask: usize,
    used: usize,
}

/// The action of an entry, as a slot stores it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotAction<'a> {
    /// Index of the action in the table's list.
    pub(crate) action: u32,
    /// Words of the action data.
    pub(crate) data: &'a [u64],
}

impl ExactMap {
    /// An empty table for keys with fields of these widths. `data_words` is the number of words of
    /// the longest action data.
    pub(crate) fn new(widths: &[u32], data_words: usize) -> Self {
        let key_words = widths.iter().map(|width| wide::words(*width)).sum();
        let slot_words = slot_words(key_words, data_words);
        let most = MAX_DIRECT / (slot_words * size_of::<u64>());
        let keys = match widths {
            [width] if *width < usize::BITS => Some(1 << width).filter(|keys| *keys <= most),
            _ => None,
        };
        let (direct, memory) = (keys.is_some(), Memory::new(0));
        let mut map = Self { key_words, slot_words, direct, memory, mask: 0, used: 0 };
        map.allocate(keys.unwrap_or(1));
        map
    }

    /// Whether each key has a slot of its own, whose number it is.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Number of entries.
    #[allow(clippy::len_without_is_empty)] // no caller needs it
    pub fn len(&self) -> usize {
        self.used
    }

    /// Number of words of a slot.
    pub fn slot_words(&self) -> usize {
        self.slot_words
    }

    /// The words of all slots. They start on a cache line.
    pub fn slots(&self) -> &[u64] {
        self.memory.words()
    }

    /// Number of slots minus 1. A hash under this mask is the slot where probing starts.
    pub fn mask(&self) -> u64 {
        self.mask as u64
    }

    fn allocate(&mut self, slots: usize) {
        self.memory = Memory::new(slots * self.slot_words);
        self.mask = slots - 1;
        self.used = 0;
    }

    fn at(&self, slot: usize) -> usize {
        slot * self.slot_words
    }

    /// The head of a slot; 0 if it is empty.
    fn head(&self, slot: usize) -> u64 {
        self.memory.words()[self.at(slot)]
    }

    fn key(&self, slot: usize) -> &[u64] {
        let at = self.at(slot) + 1;
        &self.memory.words()[at..at + self.key_words]
    }

    fn home(&self, key: &[u64]) -> usize {
        if self.direct {
            debug_assert!(key[0] <= self.mask as u64, "a key has no more bits than its field");
        }
        let hash = if self.direct { key[0] } else { hash(key) };
        hash as usize & self.mask
    }

    fn slot_of(&self, key: &[u64]) -> Option<usize> {
        let mut slot = self.home(key);
        if self.direct {
            return Some(slot).filter(|slot| self.head(*slot) != 0);
        }
        loop {
            if self.head(slot) == 0 {
                return None;
            }
            if self.key(slot) == key {
                return Some(slot);
            }
            slot = (slot + 1) & self.mask;
        }
    }

    /// Id of the entry with this key.
    #[inline]
    pub(crate) fn get(&self, key: &[u64]) -> Option<u32> {
        self.slot_of(key).map(|slot| (self.head(slot) >> 32) as u32 - 1)
    }

    /// Adds an entry, or replaces the entry with this key.
    pub(crate) fn insert(&mut self, key: &[u64], id: u32, slot_action: SlotAction<'_>) {
        if let Some(slot) = self.slot_of(key) {
            self.write(slot, key, id, slot_action);
            return;
        }
        if !self.direct && self.used >= self.most() {
            self.grow();
        }
        let slot = self.free_slot(key);
        self.write(slot, key, id, slot_action);
        self.used += 1;
    }

    /// Maximum number of entries before the table grows.
    fn most(&self) -> usize {
        let slots = self.mask + 1;
        let grown = 2 * slots * self.slot_words * size_of::<u64>();
        if grown <= GROWN_AT_EIGHTH {
            slots / 8
        } else if grown <= GROWN_AT_QUARTER {
            slots / 4
        } else {
            slots / 2
        }
    }

    /// The first empty slot for a new key. There is always one, because half of them are empty, or
    /// that of the key is.
    fn free_slot(&self, key: &[u64]) -> usize {
        let mut slot = self.home(key);
        while self.head(slot) != 0 {
            slot = (slot + 1) & self.mask;
        }
        slot
    }

    fn write(&mut self, slot: usize, key: &[u64], id: u32, slot_action: SlotAction<'_>) {
        let at = self.at(slot);
        let slot = &mut self.memory.words_mut()[at..at + self.slot_words];
        slot[0] = ((u64::from(id) + 1) << 32) | u64::from(slot_action.action);
        let (to_key, data) = slot[1..].split_at_mut(key.len());
        to_key.copy_from_slice(key);
        data[..slot_action.data.len()].copy_from_slice(slot_action.data);
    }

    fn grow(&mut self) {
        let old = std::mem::replace(&mut self.memory, Memory::new(0));
        let used = self.used;
        self.allocate((2 * (self.mask + 1)).max(8));
        for from in old.words().chunks_exact(self.slot_words).filter(|slot| slot[0] != 0) {
            let at = self.at(self.free_slot(&from[1..=self.key_words]));
            self.memory.words_mut()[at..at + self.slot_words].copy_from_slice(from);
        }
        self.used = used;
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, key: &[u64]) {
        let Some(mut hole) = self.slot_of(key) else { return };
        let mut slot = hole;
        // Entries of other keys stay where they are, if each key has a slot.
        while !self.direct {
            slot = (slot + 1) & self.mask;
            let at = self.at(slot);
            if self.head(slot) == 0 {
                break;
            }
            // The entry may move to the hole, unless its home is after the hole in its probe
            // sequence.
            let from_home = slot.wrapping_sub(self.home(self.key(slot))) & self.mask;
            if from_home >= (slot.wrapping_sub(hole) & self.mask) {
                let to = self.at(hole);
                self.memory.words_mut().copy_within(at..at + self.slot_words, to);
                hole = slot;
            }
        }
        let at = self.at(hole);
        self.memory.words_mut()[at..at + self.slot_words].fill(0);
        self.used -= 1;
    }
}

/// Number of words of a slot. It is a power of two or whole cache lines, so that a small slot is
/// never in two cache lines.
fn slot_words(key_words: usize, data_words: usize) -> usize {
    let words = 1 + key_words + data_words;
    if words <= LINE_WORDS { words.next_power_of_two() } else { words.next_multiple_of(LINE_WORDS) }
}

/// Constants of the hash function: `HASH_KEYS[i % 8]` is combined with word `i` of a key.
pub const HASH_KEYS: [u64; 8] = [
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
    0x1d8e_4e27_c47d_124f,
    0xeb44_acca_b455_d165,
    0x9c6e_6877_736c_46e3,
    0x4f0b_c4f7_a1d3_5b29,
];

/// The hash of a key. Compiled code computes the same function:
///
/// 1. Each pair of words `(a, b)` becomes `(a ^ K[i]) * (b ^ K[i + 1])`, a product of 128 bits. A
///    missing word is 0.
/// 2. The exclusive or of the halves of the product is the hash of the pair.
/// 3. The hash so far is rotated by 23 bits, and combined with that of the pair by exclusive or.
pub fn hash(key: &[u64]) -> u64 {
    let pair = |i: usize, pair: &[u64]| {
        let a = pair[0] ^ HASH_KEYS[2 * i % HASH_KEYS.len()];
        let b = pair.get(1).copied().unwrap_or(0) ^ HASH_KEYS[(2 * i + 1) % HASH_KEYS.len()];
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ ((product >> 64) as u64)
    };
    key.chunks(2).enumerate().fold(0, |hash: u64, (i, words)| hash.rotate_left(23) ^ pair(i, words))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::random::Random;

    #[test]
    fn it_answers_as_a_plain_map_does() {
        let widths: [&[u32]; 8] =
            [&[], &[64], &[5], &[10], &[11], &[65], &[1, 128], &[64, 1, 5, 128, 256]];
        for widths in widths {
            let key_words = widths.iter().map(|width| wide::words(*width)).sum();
            let mut random = Random::new(key_words as u64);
            let mut map = ExactMap::new(widths, 2);
            assert_eq!(map.is_direct(), widths == [5] || widths == [10] || widths == [11]);
            let mut model: HashMap<Vec<u64>, (u32, u64)> = HashMap::new();
            for step in 0..20_000u32 {
                // There are few different keys, so that each is replaced and removed many times.
                let key: Vec<u64> = (0..key_words).map(|_| random.between(0, 31)).collect();
                if random.between(0, 2) == 0 {
                    map.remove(&key);
                    model.remove(&key);
                } else {
                    let data = [u64::from(step), 7];
                    map.insert(&key, step, SlotAction { action: 3, data: &data });
                    model.insert(key.clone(), (step, u64::from(step)));
                }
                let probe: Vec<u64> = (0..key_words).map(|_| random.between(0, 31)).collect();
                assert_eq!(map.get(&probe), model.get(&probe).map(|(id, _)| *id));
                assert_eq!(map.used, model.len());
            }
            for (key, (id, data)) in &model {
                let at = map.at(map.slot_of(key).expect("it is in the model"));
                assert_eq!(map.memory.words()[at], (u64::from(*id) + 1) << 32 | 3);
                assert_eq!(map.memory.words()[at + 1 + key_words..][..2], [*data, 7]);
            }
        }
    }

    #[test]
    fn each_short_key_has_a_slot() {
        let mut map = ExactMap::new(&[8], 3);
        for key in 0..256 {
            map.insert(&[key], key as u32, SlotAction { action: 1, data: &[key, 0, 5] });
        }
        assert_eq!((map.mask(), map.len()), (255, 256));
        for key in (0..256).step_by(2) {
            map.remove(&[key]);
        }
        for key in 0..256 {
            assert_eq!(map.get(&[key]), (key % 2 == 1).then_some(key as u32));
        }
        assert_eq!(map.slots()[8 * 7..][..5], [8 << 32 | 1, 7, 7, 0, 5]);
        // A table of that size has no slot for each key.
        assert!(!ExactMap::new(&[8], 31).is_direct() && !ExactMap::new(&[32], 1).is_direct());
    }

    #[test]
    fn slots_are_line_aligned_and_most_of_them_stay_empty() {
        let mut map = ExactMap::new(&[128], 2);
        for key in 0..10_000u64 {
            map.insert(&[key, 0], key as u32, SlotAction { action: 0, data: &[1, 2] });
        }
        assert_eq!(map.slot_words(), 8);
        assert_eq!(map.slots().as_ptr() as usize % 64, 0);
        assert_eq!(map.mask(), 131_071);
        let distances = (0..10_000u64).map(|key| {
            let slot = map.slot_of(&[key, 0]).expect("it was put in");
            slot.wrapping_sub(map.home(&[key, 0])) & map.mask
        });
        let (first, later): (Vec<usize>, Vec<usize>) = distances.partition(|it| *it == 0);
        assert!(first.len() > 9_400, "{} of 10,000", first.len());
        assert!(later.iter().max() < Some(&16), "small numbers as keys spread over the slots");
    }

    #[test]
    fn the_larger_a_table_the_more_slots_are_used() {
        let mut map = ExactMap::new(&[128], 125); // slots of 1,024 bytes
        let mut used = Vec::new();
        for key in 0..33_000u64 {
            let slots = map.mask() + 1;
            map.insert(&[key, 1], key as u32, SlotAction { action: 0, data: &[key] });
            if map.mask() + 1 != slots {
                used.push(slots.checked_div(key).unwrap_or(0));
            }
        }
        assert_eq!(used, [0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 2]);
        assert!((0..33_000).all(|key| map.get(&[key, 1]) == Some(key as u32)));
        assert_eq!(map.get(&[1, 2]), None);
    }
}
