//! A seeded random number generator: xoshiro256++ (Blackman and Vigna), seeded by splitmix64.

/// A random number generator. A seed and a stream give the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator for one of the independent `stream`s of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut next = mix64(seed) ^ mix64(stream ^ 0x5eed_0000_0000_0001);
        let state = std::array::from_fn(|_| {
            next = next.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix64(next)
        });
        Self { state }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c2 = c ^ a;
        let d2 = d ^ b;
        self.state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        result
    }

    /// A uniform number in `0..end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // Multiply-shift with rejection of the low products that would be more likely.
        loop {
            let product = u128::from(self.bits()) * u128::from(end);
            let low = product as u64;
            if low >= end || low >= end.wrapping_neg() % end.max(1) {
                return (product >> 64) as u64;
            }
        }
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// Mixes the bits of `value` (the finalizer of splitmix64, a bijection).
pub const fn mix64(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_differ() {
        let take = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(take(1, 2), take(1, 2));
        assert_ne!(take(1, 2), take(1, 3));
        assert_ne!(take(1, 2), take(2, 2));
        assert_ne!(take(1, 2), take(2, 1));
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut random = Random::new(7, 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 27.9, "chi-square {chi} with 9 degrees of freedom (0.1%)");
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
    }
}
