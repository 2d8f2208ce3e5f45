//! The distribution of value sizes.

use crate::{Random, mix64};

/// Minimum size of a value in bytes. A value contains the identity of its writer.
pub const MIN_VALUE_SIZE: usize = 16;
/// Maximum size of a value in bytes.
pub const MAX_VALUE_SIZE: usize = 1024;

/// A distribution of value sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSize {
    /// A fixed number of bytes.
    Fixed(usize),
    /// Uniform from `min` to `max`, both included.
    Uniform {
        /// Minimum number of bytes.
        min: usize,
        /// Maximum number of bytes.
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
    /// A sentence with the error and the limits.
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

    /// Size of the initial value of key `id`, in bytes.
    pub fn initial(self, id: u64) -> usize {
        let (min, max) = self.bounds();
        min + (mix64(id ^ 0x512e) % (max - min + 1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_cover_exactly_their_bounds() {
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
