//! The random number generator. A seed determines every choice of the fuzzer.

use netkv_dataplane::Random;
use netkv_ir::Value;

/// A seeded random number generator.
#[derive(Debug, Clone)]
pub struct Rng(Random);

impl Rng {
    /// A generator for a seed and a purpose. Different purposes are independent, so one part of a
    /// case can change without a change of the others.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mixed = purpose.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(Random::new(mixed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next()
    }

    /// A number in `0..limit`; 0 if the range is empty.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { self.0.between(0, limit as u64 - 1) as usize }
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }

    /// True with a probability of `percent` / 100.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// An element of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// An element of a list; none if the list is empty.
    pub fn pick_any<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        if list.is_empty() { None } else { Some(self.pick(list)) }
    }

    /// A random value of a width.
    pub fn value(&mut self, width: u32) -> Value {
        let words = (0..width.div_ceil(64)).map(|_| self.bits()).collect();
        Value::from_words(width, words)
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.bits() as u8).collect()
    }
}
