//! Random numbers from a seed (SplitMix64), so that every run can be repeated.

/// A seeded random number generator.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator. Equal seeds produce equal numbers.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    #[allow(clippy::should_implement_trait)] // not an iterator: it never ends
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.state;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A number in `low..=high`, or `low` if the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        if low >= high {
            return low;
        }
        let Some(count) = (high - low).checked_add(1) else { return self.next() };
        // The high half of the product is uniform up to a bias of count / 2^64.
        low + ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_uniform_over_the_closed_range() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 4];
        for _ in 0..4000 {
            seen[random.between(10, 13) as usize - 10] += 1;
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!(random.between(9, 3), 9);
    }
}
