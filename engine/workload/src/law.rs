//! The law by which popularity ranks are drawn.

use crate::{GrayZipf, Random, Zipf};

/// A distribution of popularity ranks.
#[derive(Debug, Clone)]
pub(crate) enum Law {
    Zipf(Zipf),
    Gray(GrayZipf),
}

impl Law {
    /// Number of ranks.
    pub(crate) fn ranks(&self) -> u64 {
        match self {
            Self::Zipf(zipf) => zipf.ranks(),
            Self::Gray(gray) => gray.ranks(),
        }
    }

    /// Draws a rank.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Zipf(zipf) => zipf.draw(random),
            Self::Gray(gray) => gray.draw(random),
        }
    }

    /// Probability of the `top` most popular ranks.
    pub(crate) fn mass(&self, top: u64) -> f64 {
        match self {
            Self::Zipf(zipf) => zipf.mass(top),
            Self::Gray(gray) => gray.mass(top),
        }
    }
}
