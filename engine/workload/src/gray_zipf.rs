//! Zipf's law as YCSB draws it: the approximation of Gray et al. (SIGMOD 1994).
//!
//! The two most popular ranks have their exact shares. The others are an inverted integral, which
//! gives the next ones a little more than Zipf's law: of 10^10 items with the exponent 0.99, the
//! 10,000 hottest get 39.2% of the draws, not 38.6%.

use crate::{Random, Zipf};

/// Ranks 0 to `ranks - 1` with about the probabilities of Zipf's law.
#[derive(Debug, Clone)]
pub struct GrayZipf {
    ranks: u64,
    theta: f64,
    /// Probability of the most popular rank.
    first: f64,
    /// Probability of the two most popular ranks.
    two: f64,
    eta: f64,
}

impl GrayZipf {
    /// Exponent `theta`, at least 0 and below 1, over `ranks` ranks (at least 3).
    pub fn new(ranks: u64, theta: f64) -> Self {
        let zipf = Zipf::new(ranks, theta);
        let (first, two) = (zipf.mass(1), zipf.mass(2));
        let eta = (1.0 - libm::pow(2.0 / ranks as f64, 1.0 - theta)) / (1.0 - two);
        Self { ranks, theta, first, two, eta }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// Draws a rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let u = random.unit();
        if u < self.first {
            0
        } else if u < self.two {
            1
        } else {
            let place = libm::pow(self.eta * u - self.eta + 1.0, 1.0 / (1.0 - self.theta));
            ((self.ranks as f64 * place) as u64).min(self.ranks - 1)
        }
    }

    /// Probability of `rank`; 0 if there is no such rank.
    pub fn probability(&self, rank: u64) -> f64 {
        self.mass(rank + 1) - self.mass(rank)
    }

    /// Probability of the `top` most popular ranks.
    pub fn mass(&self, top: u64) -> f64 {
        match top {
            0 => 0.0,
            1 => self.first,
            2 => self.two,
            _ if top >= self.ranks => 1.0,
            _ => {
                let place = libm::pow(top as f64 / self.ranks as f64, 1.0 - self.theta);
                (1.0 - (1.0 - place) / self.eta).max(self.two)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_ranks_have_the_shares_that_are_stated() {
        const DRAWS: u32 = 400_000;
        for (ranks, theta) in [(1000, 0.5), (10_000_000_001, 0.9), (10_000_000_001, 0.99)] {
            let zipf = GrayZipf::new(ranks, theta);
            let mut random = Random::new(7, 1);
            let tops = [1, 2, 3, 10, 100, 900];
            let mut inside = [0u32; 6];
            for _ in 0..DRAWS {
                let rank = zipf.draw(&mut random);
                for (count, top) in inside.iter_mut().zip(tops) {
                    *count += u32::from(rank < top);
                }
            }
            for (count, top) in inside.into_iter().zip(tops) {
                let (found, stated) = (f64::from(count) / f64::from(DRAWS), zipf.mass(top));
                assert!((found - stated).abs() < 0.003, "{found} of {stated}, top {top}");
            }
        }
    }

    #[test]
    fn the_10000_hottest_have_the_share_of_the_published_request_files() {
        let zipf = GrayZipf::new(10_000_000_001, 0.99);
        assert!((zipf.mass(10_000) - 0.39194).abs() < 1e-4);
        assert!((zipf.mass(20_000) - zipf.mass(10_000) - 0.02865).abs() < 2e-4);
        assert!((zipf.probability(0) - 0.03778).abs() < 1e-5);
        assert_eq!((zipf.mass(0), zipf.mass(u64::MAX)), (0.0, 1.0));
    }
}
