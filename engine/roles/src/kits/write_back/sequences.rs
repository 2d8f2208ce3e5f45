//! The stored sequences that a server remembers, so that most writes need not ask the store.

use netkv_wire::{Key, Sequence};
use rustc_hash::FxHashMap;

/// Keys of each half.
const HALF: usize = 16_384;

/// The sequences of the keys that were written last: at least [`HALF`] of them, at most twice as
/// many.
///
/// Invariant: a sequence here is what the store has, unless a write of the key is under way.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    young: FxHashMap<Key, Sequence>,
    /// The previous `young`. If a key is in both, this entry is outdated.
    old: FxHashMap<Key, Sequence>,
}

impl Sequences {
    /// The sequence in the store, if it is known.
    pub(super) fn get(&mut self, key: &Key) -> Option<Sequence> {
        if let Some(sequence) = self.young.get(key) {
            return Some(*sequence);
        }
        let sequence = *self.old.get(key)?;
        self.set(key, sequence);
        Some(sequence)
    }

    /// The store has this sequence now.
    pub(super) fn set(&mut self, key: &Key, sequence: Sequence) {
        self.young.insert(*key, sequence);
        if self.young.len() >= HALF {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::key_of;

    fn sequence(number: u64) -> Sequence {
        Sequence { incarnation: 1, number: number as u32 }
    }

    #[test]
    fn a_known_sequence_is_the_last_one_however_many_keys() {
        let mut sequences = Sequences::default();
        let keys = 3 * HALF as u64;
        let mut last = vec![0; keys as usize];
        for number in 1..10 * HALF as u64 {
            // Some keys are written often, some once in a long time.
            let id = if number % 3 == 0 { number % 5 } else { number * 7919 % keys };
            last[id as usize] = number;
            sequences.set(&key_of(id), sequence(number));
            let other = number * 31 % keys;
            if let Some(known) = sequences.get(&key_of(other)) {
                assert_eq!(known, sequence(last[other as usize]));
            }
            assert_eq!(sequences.get(&key_of(id)), Some(sequence(number)));
            assert!(sequences.young.len() + sequences.old.len() <= 2 * HALF);
        }
    }

    #[test]
    fn a_key_that_is_looked_up_is_kept() {
        let mut sequences = Sequences::default();
        sequences.set(&key_of(0), sequence(9));
        for id in 1..20 * HALF as u64 {
            sequences.set(&key_of(id), sequence(id));
            if id % 1000 == 0 {
                assert_eq!(sequences.get(&key_of(0)), Some(sequence(9)));
            }
        }
    }
}
