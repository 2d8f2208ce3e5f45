//! A seeded bijection of 0 to n - 1 without a table: a Feistel network with cycle walking.

use crate::mix64;

const ROUNDS: usize = 4;
/// Maximum number of numbers that [`Permutation::apply_all`] takes at a time.
const SIDE_BY_SIDE: usize = 16;

/// A permutation of the numbers below `size`.
#[derive(Debug, Clone)]
pub struct Permutation {
    size: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of 0 to `size - 1` for `seed`.
    pub fn new(size: u64, seed: u64) -> Self {
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|round| mix64(seed ^ mix64(round as u64 + 1)));
        Self { size, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// The image of `number` (below `size`).
    pub fn apply(&self, number: u64) -> u64 {
        debug_assert!(number < self.size);
        // The network permutes up to 4 times as many numbers. Repeated application until a number
        // is in range remains on the cycle of `number`, so it terminates and is a bijection.
        let mut number = number;
        loop {
            number = self.encrypt(number);
            if number < self.size {
                return number;
            }
        }
    }

    /// Replaces numbers (below `size`) by their images. This is faster than one at a time: the
    /// processor computes several side by side.
    pub fn apply_all(&self, numbers: &mut [u64]) {
        for numbers in numbers.chunks_mut(SIDE_BY_SIDE) {
            let mut left: [usize; SIDE_BY_SIDE] = std::array::from_fn(|at| at);
            let mut count = numbers.len();
            while count > 0 {
                // As `apply`. The numbers that are out of range go on to the next round; no branch
                // depends on which ones these are.
                let mut outside = 0;
                for at in 0..count {
                    let index = left[at];
                    let image = self.encrypt(numbers[index]);
                    numbers[index] = image;
                    left[outside] = index;
                    outside += usize::from(image >= self.size);
                }
                count = outside;
            }
        }
    }

    fn encrypt(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix64(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_bijection() {
        for size in [1u64, 2, 3, 4, 5, 17, 64, 65, 1000, 4097] {
            let permutation = Permutation::new(size, 99);
            let mut all: Vec<u64> = (0..size).collect();
            permutation.apply_all(&mut all);
            assert!((0..size).all(|number| all[number as usize] == permutation.apply(number)));
            let mut seen = vec![false; size as usize];
            for number in 0..size {
                let image = permutation.apply(number);
                assert!(!std::mem::replace(&mut seen[image as usize], true));
            }
        }
    }

    #[test]
    fn adjacent_numbers_are_scattered_and_seeds_differ() {
        let size = 100_000_000;
        let (a, b) = (Permutation::new(size, 1), Permutation::new(size, 2));
        let mean: f64 = (0..1000).map(|n| a.apply(n) as f64).sum::<f64>() / 1000.0;
        assert!((mean / size as f64 - 0.5).abs() < 0.05, "mean {mean}");
        assert!((0..1000).filter(|&n| a.apply(n) == b.apply(n)).count() < 3);
    }
}
