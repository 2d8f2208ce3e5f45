//! Sizes of values.

use crate::{Random, mix64};

/// Smallest value in bytes: a value says who wrote it, and that takes so much.
pub const MIN_VALUE_SIZE: usize = 16;
/// Largest value in bytes.
pub const MAX_VALUE_SIZE: usize = 1024;

/// How large values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSize {
    /// Always so many bytes.
    Fixed(usize),
    /// Every number of bytes from `min` to `max`, both included, equally likely.
    Uniform {
        /// Smallest.
        min: usize,
        /// Largest.
        max: usize,
    },
}

impl ValueSize {
    fn bounds(self) -> (usize, usize) {
        match self {
            ValueSize::Fixed(size) => (size, size),
            ValueSize::Uniform { min, max } => (min, max),
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong.
    pub fn check(self) -> Result<(), String> {
        let (min, max) = self.bounds();
        if min < MIN_VALUE_SIZE || max > MAX_VALUE_SIZE || min > max {
            return Err(format!(
                "values of {min} to {max} bytes are not possible; the limits are \
                 {MIN_VALUE_SIZE} to {MAX_VALUE_SIZE}, the smaller number first"
            ));
        }
        Ok(())
    }

    /// Draws the size of a value to write, in bytes.
    pub fn draw(self, random: &mut Random) -> usize {
        let (min, max) = self.bounds();
        if min == max { min } else { min + random.below((max - min + 1) as u64) as usize }
    }

    /// Size of the value that key `id` has before anything is written, in bytes.
    pub fn initial(self, id: u64) -> usize {
        let (min, max) = self.bounds();
        min + (mix64(id ^ 0x512e) % (max - min + 1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_in_their_bounds_and_reach_them() {
        let size = ValueSize::Uniform { min: 16, max: 24 };
        let mut random = Random::new(1, 1);
        let mut drawn = [0; 9];
        for id in 0..9000 {
            drawn[size.draw(&mut random) - 16] += 1;
            assert!((16..=24).contains(&size.initial(id)));
        }
        assert!(drawn.iter().all(|count| (850..1150).contains(count)), "{drawn:?}");
        assert_eq!(ValueSize::Fixed(128).draw(&mut random), 128);
        assert_eq!(ValueSize::Fixed(128).initial(4), 128);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(ValueSize::Fixed(15).check().unwrap_err().contains("15"));
        assert!(ValueSize::Fixed(1025).check().is_err());
        assert!(ValueSize::Uniform { min: 64, max: 32 }.check().is_err());
        assert!(ValueSize::Uniform { min: 16, max: 1024 }.check().is_ok());
    }
}
