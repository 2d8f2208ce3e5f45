//! The records of popularity ranks, which popularity shifts change.
//!
//! The base order says which record is at each position. Rank `r` has position
//! `swapped((r + offset) mod ranks)`. The shifts hot-in and hot-out rotate the complete order, so
//! they change the offset only. A random shift swaps single positions, which are in a sparse map.
//! Shifts compose in any order. The keyspace is never in memory.

use std::collections::HashMap;

use crate::placement::ycsb_record;
use crate::{Permutation, Random};

/// A change of the popularity of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// The `keys` coldest keys become the hottest; all others move down.
    HotIn {
        /// Number of keys.
        keys: u64,
    },
    /// The `keys` hottest keys become the coldest; all others move up.
    HotOut {
        /// Number of keys.
        keys: u64,
    },
    /// `keys` of the `top` hottest keys are swapped with keys that are not among them.
    Random {
        /// Number of keys.
        keys: u64,
        /// The number of hottest keys from which they are drawn.
        top: u64,
    },
}

/// Which record is at a position before any shift.
#[derive(Debug, Clone)]
enum BaseOrder {
    Permuted(Permutation),
    Numbered,
    Hashed { records: u64 },
}

/// The order of the records by popularity.
#[derive(Debug, Clone)]
pub struct Ranking {
    ranks: u64,
    base: BaseOrder,
    offset: u64,
    swapped: HashMap<u64, u64>,
    random: Random,
}

impl Ranking {
    /// The records 0 to `records - 1` in the order of `seed`, each with one rank.
    pub fn permuted(records: u64, seed: u64) -> Self {
        Self::new(records, BaseOrder::Permuted(Permutation::new(records, seed)), seed)
    }

    /// The records 0 to `records - 1` in the order of their numbers, each with one rank.
    pub fn numbered(records: u64, seed: u64) -> Self {
        Self::new(records, BaseOrder::Numbered, seed)
    }

    /// Each of `ranks` ranks has one of `records` records by YCSB's hash, so a record may have
    /// several ranks.
    pub fn hashed(ranks: u64, records: u64, seed: u64) -> Self {
        Self::new(ranks, BaseOrder::Hashed { records }, seed)
    }

    fn new(ranks: u64, base: BaseOrder, seed: u64) -> Self {
        let random = Random::new(seed, 0x5417);
        Self { ranks, base, offset: 0, swapped: HashMap::new(), random }
    }

    /// Number of the record with this rank (0 is the hottest).
    pub fn record_at(&self, rank: u64) -> u64 {
        let position = self.position_at(rank);
        match &self.base {
            BaseOrder::Permuted(permutation) => permutation.apply(position),
            BaseOrder::Numbered => position,
            BaseOrder::Hashed { records } => ycsb_record(position, *records),
        }
    }

    /// Replaces ranks by the numbers of their records.
    pub fn records_at(&self, ranks: &mut [u64]) {
        for rank in ranks.iter_mut() {
            *rank = self.position_at(*rank);
        }
        match &self.base {
            BaseOrder::Permuted(permutation) => permutation.apply_all(ranks),
            BaseOrder::Numbered => {}
            BaseOrder::Hashed { records } => {
                for position in ranks {
                    *position = ycsb_record(*position, *records);
                }
            }
        }
    }

    fn position_at(&self, rank: u64) -> u64 {
        let place = (rank + self.offset) % self.ranks;
        *self.swapped.get(&place).unwrap_or(&place)
    }

    /// Changes the order. The same sequence of shifts gives the same ranking for every generator
    /// with this seed.
    ///
    /// # Errors
    ///
    /// A sentence if the shift moves more keys than there are.
    pub fn shift(&mut self, shift: Shift) -> Result<(), String> {
        match shift {
            Shift::HotIn { keys } => {
                self.check(keys)?;
                self.offset = (self.offset + self.ranks - keys) % self.ranks;
            }
            Shift::HotOut { keys } => {
                self.check(keys)?;
                self.offset = (self.offset + keys) % self.ranks;
            }
            Shift::Random { keys, top } => self.replace(keys, top)?,
        }
        Ok(())
    }

    fn check(&self, keys: u64) -> Result<(), String> {
        if keys > self.ranks {
            return Err(format!(
                "a shift of {keys} keys needs a keyspace of at least as many; it has {}",
                self.ranks
            ));
        }
        Ok(())
    }

    fn replace(&mut self, keys: u64, top: u64) -> Result<(), String> {
        if keys > top || keys > self.ranks.saturating_sub(top) {
            return Err(format!(
                "a random shift replaces {keys} of the {top} hottest keys by others; that takes \
                 at least {keys} hot and {keys} other keys, and there are {} keys",
                self.ranks
            ));
        }
        // Floyd's algorithm for distinct random numbers: a duplicate is replaced by the largest.
        let mut distinct = |end: u64| {
            let mut drawn = Vec::with_capacity(keys as usize);
            let mut seen = std::collections::HashSet::new();
            for largest in end - keys..end {
                let number = self.random.below(largest + 1);
                let number = if seen.insert(number) { number } else { largest };
                seen.insert(number);
                drawn.push(number);
            }
            drawn
        };
        let hot = distinct(top);
        let cold = distinct(self.ranks - top);
        for (hot, cold) in hot.into_iter().zip(cold) {
            self.swap_ranks(hot, top + cold);
        }
        Ok(())
    }

    fn swap_ranks(&mut self, a: u64, b: u64) {
        let a = (a + self.offset) % self.ranks;
        let b = (b + self.offset) % self.ranks;
        let (at_a, at_b) =
            (*self.swapped.get(&a).unwrap_or(&a), *self.swapped.get(&b).unwrap_or(&b));
        self.set_position(a, at_b);
        self.set_position(b, at_a);
    }

    /// Maps `place` to `position`. An identical mapping takes no memory.
    fn set_position(&mut self, place: u64, position: u64) {
        if place == position {
            self.swapped.remove(&place);
        } else {
            self.swapped.insert(place, position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ranking: &Ranking) -> Vec<u64> {
        (0..ranking.ranks).map(|rank| ranking.record_at(rank)).collect()
    }

    #[test]
    fn hot_in_moves_the_coldest_keys_to_the_top() {
        let mut ranking = Ranking::permuted(100, 5);
        let before = order(&ranking);
        ranking.shift(Shift::HotIn { keys: 7 }).unwrap();
        let after = order(&ranking);
        assert_eq!(after[..7], before[93..]);
        assert_eq!(after[7..], before[..93]);
    }

    #[test]
    fn hot_out_moves_the_hottest_keys_to_the_bottom() {
        let mut ranking = Ranking::permuted(100, 5);
        let before = order(&ranking);
        ranking.shift(Shift::HotOut { keys: 7 }).unwrap();
        let after = order(&ranking);
        assert_eq!(after[93..], before[..7]);
        assert_eq!(after[..93], before[7..]);
    }

    #[test]
    fn a_random_shift_replaces_exactly_the_given_number_of_keys() {
        let mut ranking = Ranking::permuted(1000, 5);
        let before = order(&ranking);
        ranking.shift(Shift::Random { keys: 20, top: 100 }).unwrap();
        let after = order(&ranking);
        let gone = before[..100].iter().filter(|key| !after[..100].contains(key)).count();
        let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        assert_eq!((gone, moved), (20, 40));
    }

    #[test]
    fn shifts_compose_in_any_order() {
        let mut ranking = Ranking::permuted(500, 8);
        let mut model = order(&ranking);
        let mut random = Random::new(1, 1);
        for _ in 0..200 {
            let keys = random.below(20) + 1;
            match random.below(3) {
                0 => {
                    ranking.shift(Shift::HotIn { keys }).unwrap();
                    model.rotate_right(keys as usize);
                }
                1 => {
                    ranking.shift(Shift::HotOut { keys }).unwrap();
                    model.rotate_left(keys as usize);
                }
                _ => {
                    ranking.shift(Shift::Random { keys, top: 50 }).unwrap();
                    let mut all = order(&ranking);
                    let stayed = all.iter().zip(&model).filter(|(a, b)| a == b).count();
                    assert_eq!(stayed as u64, 500 - 2 * keys);
                    model = all.clone();
                    all.sort_unstable();
                    assert!(all.iter().enumerate().all(|(at, &id)| at as u64 == id));
                }
            }
            assert_eq!(order(&ranking), model);
            let mut at_once: Vec<u64> = (0..500).collect();
            ranking.records_at(&mut at_once);
            assert_eq!(at_once, model);
        }
        assert!(ranking.swapped.len() <= 500);
    }

    #[test]
    fn a_shift_beyond_the_keyspace_is_refused_with_a_reason() {
        let mut ranking = Ranking::permuted(100, 5);
        assert!(ranking.shift(Shift::HotIn { keys: 101 }).unwrap_err().contains("101 keys"));
        assert!(ranking.shift(Shift::Random { keys: 60, top: 50 }).is_err());
        assert!(ranking.shift(Shift::Random { keys: 60, top: 90 }).is_err());
    }

    #[test]
    fn shifts_move_the_ranks_of_hashed_records_too() {
        let mut ranking = Ranking::hashed(1000, 100, 5);
        let before = order(&ranking);
        assert!(before.iter().all(|record| *record < 100));
        assert_eq!(before, order(&Ranking::hashed(1000, 100, 6)), "no seed decides");
        ranking.shift(Shift::HotOut { keys: 3 }).unwrap();
        assert_eq!(order(&ranking)[..10], before[3..13]);
        assert_eq!(order(&Ranking::numbered(5, 1)), [0, 1, 2, 3, 4]);
    }
}
