//! Zipf's law over any number of ranks, without a table.
//!
//! Ranks are drawn by rejection-inversion (Hörmann and Derflinger, 1996). It inverts the integral
//! of the density, rounds, and rejects the part where the histogram is below the curve. A draw
//! takes about 1.1 attempts for every exponent and number of ranks. Powers and logarithms are those
//! of `libm` instead of the system, so a seed gives the same ranks on every machine.

use crate::Random;

/// Ranks 0 to `ranks - 1`, rank `r` with probability proportional to `(r + 1)^-theta`.
#[derive(Debug, Clone)]
pub struct Zipf {
    ranks: u64,
    theta: f64,
    /// The integral at the lower end of the first rank's interval.
    low: f64,
    /// The integral at the upper end of the last rank's interval.
    high: f64,
    /// Within this distance below a rank no point is rejected.
    accept: f64,
    /// [`Zipf::bound`] of the first ranks. They are a large part of the draws, and a bound takes
    /// two powers.
    bounds: Box<[f64]>,
    /// Sum of all weights.
    total: f64,
    /// Sum of the weights of the first [`EXACT_RANKS`] ranks.
    exact_sum: f64,
}

/// Number of ranks whose acceptance is in a table.
const TABLED_RANKS: u64 = 1024;

/// Number of ranks whose weights are added exactly. The sum of the others is an integral
/// (Euler-Maclaurin formula) with an error below 1e-12 of the sum.
const EXACT_RANKS: u64 = 1000;

impl Zipf {
    /// Zipf with exponent `theta` (0 is uniform) over `ranks` ranks (at least 1).
    pub fn new(ranks: u64, theta: f64) -> Self {
        let exact_sum = (1..=ranks.min(EXACT_RANKS)).map(|k| libm::pow(k as f64, -theta)).sum();
        let mut zipf = Self {
            ranks,
            theta,
            low: 0.0,
            high: 0.0,
            accept: 0.0,
            bounds: [].into(),
            total: 0.0,
            exact_sum,
        };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.accept = 2.0 - zipf.inverse(zipf.integral(2.5) - libm::pow(2.0, -theta));
        zipf.bounds = (1..=TABLED_RANKS).map(|k| zipf.bound(k as f64)).collect();
        zipf.resize(ranks);
        zipf
    }

    /// Increases the number of ranks, after inserts.
    pub fn resize(&mut self, ranks: u64) {
        for k in self.ranks.min(EXACT_RANKS) + 1..=ranks.min(EXACT_RANKS) {
            self.exact_sum += libm::pow(k as f64, -self.theta);
        }
        self.ranks = ranks;
        self.high = self.integral(ranks as f64 + 0.5);
        self.total = self.sum(ranks);
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// Draws a rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        if self.theta == 0.0 {
            return random.below(self.ranks);
        }
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(u);
            let k = round(x).clamp(1.0, self.ranks as f64);
            let rank = k as u64 - 1;
            if k - x <= self.accept {
                return rank;
            }
            let bound = self.bounds.get(rank as usize).copied().unwrap_or_else(|| self.bound(k));
            if u >= bound {
                return rank;
            }
        }
    }

    /// The area from which on a point that is rounded to `k` is not rejected.
    fn bound(&self, k: f64) -> f64 {
        self.integral(k + 0.5) - libm::pow(k, -self.theta)
    }

    /// Probability of `rank`; 0 if there is no such rank.
    pub fn probability(&self, rank: u64) -> f64 {
        if rank >= self.ranks {
            return 0.0;
        }
        libm::pow((rank + 1) as f64, -self.theta) / self.total
    }

    /// Probability of the `top` most popular ranks.
    pub fn mass(&self, top: u64) -> f64 {
        if top >= self.ranks { 1.0 } else { self.sum(top) / self.total }
    }

    /// Sum of the weights of the first `top` ranks.
    fn sum(&self, top: u64) -> f64 {
        if top < EXACT_RANKS {
            return (1..=top).map(|k| libm::pow(k as f64, -self.theta)).sum();
        }
        let (a, b) = (EXACT_RANKS as f64, top as f64);
        let weight = |x: f64| libm::pow(x, -self.theta);
        let slope = |x: f64| -self.theta * libm::pow(x, -self.theta - 1.0);
        self.exact_sum
            + (self.integral(b) - self.integral(a))
            + (weight(b) - weight(a)) / 2.0
            + (slope(b) - slope(a)) / 12.0
    }

    /// Integral of `x^-theta` from 1 to `x`. It is a logarithm if theta is 1, and smooth near that.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.theta) * log;
        if t.abs() < 1e-8 { log * (1.0 + t / 2.0) } else { log * (libm::expm1(t) / t) }
    }

    /// The `x` up to which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may make the argument of the logarithm slightly smaller than its pole.
        let t = (area * (1.0 - self.theta)).max(-1.0);
        let log = if t.abs() < 1e-8 { area * (1.0 - t / 2.0) } else { area * (libm::log1p(t) / t) };
        libm::exp(log)
    }
}

/// `x.round()` of a number below 2^63 that is not negative; less is 0. Without instructions that
/// not every processor has, `round` is a call of a function.
#[inline]
fn round(x: f64) -> f64 {
    let whole = (x as u64) as f64;
    whole + f64::from(u8::from(x - whole >= 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(ranks: u64, theta: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=ranks).map(|k| (k as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| w / total).collect()
    }

    #[test]
    fn numbers_are_rounded_as_the_standard_library_does() {
        let below_half = 0.5 - f64::EPSILON / 4.0;
        for x in [0.0, below_half, 0.5, 1.0, 1.5, 2.5, 2.499_999_999, 1e8 + 0.5, 1e12 + 0.25] {
            assert_eq!(round(x), x.round(), "{x}");
        }
        let mut random = Random::new(1, 1);
        for _ in 0..100_000 {
            let x = random.unit() * 2.0 / random.unit().max(1e-12);
            assert_eq!(round(x), x.round(), "{x}");
        }
    }

    #[test]
    fn drawn_ranks_follow_the_law_for_every_exponent() {
        const DRAWS: u32 = 400_000;
        for theta in [0.0, 0.2, 0.5, 0.9, 0.99, 1.0, 1.000_000_1, 1.1, 1.2] {
            let zipf = Zipf::new(50, theta);
            let mut random = Random::new(11, (theta * 100.0) as u64);
            let mut counts = [0u32; 50];
            for _ in 0..DRAWS {
                counts[zipf.draw(&mut random) as usize] += 1;
            }
            let chi: f64 = exact(50, theta)
                .iter()
                .zip(counts)
                .map(|(p, count)| {
                    let expected = p * f64::from(DRAWS);
                    (f64::from(count) - expected).powi(2) / expected
                })
                .sum();
            assert!(chi < 85.4, "theta {theta}: chi-square {chi}, 49 degrees of freedom (0.1%)");
        }
    }

    #[test]
    fn the_hottest_of_100_million_keys_get_the_predicted_share() {
        const DRAWS: u32 = 300_000;
        for theta in [0.9, 0.99, 1.0, 1.2] {
            let zipf = Zipf::new(100_000_000, theta);
            let mut random = Random::new(3, 0);
            let mut inside = [0u32; 3];
            for _ in 0..DRAWS {
                let rank = zipf.draw(&mut random);
                assert!(rank < 100_000_000);
                for (count, top) in inside.iter_mut().zip([1, 1000, 1_000_000]) {
                    *count += u32::from(rank < top);
                }
            }
            for (count, top) in inside.into_iter().zip([1, 1000, 1_000_000]) {
                let p = zipf.mass(top);
                let sigma = (p * (1.0 - p) / f64::from(DRAWS)).sqrt();
                let share = f64::from(count) / f64::from(DRAWS);
                assert!((share - p).abs() < 4.0 * sigma, "theta {theta} top {top}: {share} {p}");
            }
        }
    }

    #[test]
    fn predicted_mass_is_the_exact_sum() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2] {
            let zipf = Zipf::new(300_000, theta);
            let exact = exact(300_000, theta);
            for top in [0, 1, 10, 999, 1000, 1001, 10_000, 299_999, 300_000] {
                let sum: f64 = exact[..top as usize].iter().sum();
                assert!((zipf.mass(top) - sum).abs() < 1e-9, "theta {theta} top {top}");
            }
            assert!((zipf.probability(5) - exact[5]).abs() < 1e-12);
            assert_eq!(zipf.probability(300_000), 0.0);
        }
    }

    #[test]
    fn growing_by_inserts_gives_the_same_law_as_starting_large() {
        let mut grown = Zipf::new(10, 0.99);
        for ranks in [11, 400, 999, 1000, 1003, 5000] {
            grown.resize(ranks);
            let fresh = Zipf::new(ranks, 0.99);
            assert!((grown.mass(7) - fresh.mass(7)).abs() < 1e-12, "{ranks} ranks");
        }
    }

    #[test]
    fn one_key_is_always_drawn() {
        for theta in [0.0, 0.99, 1.0] {
            let zipf = Zipf::new(1, theta);
            assert_eq!(zipf.draw(&mut Random::new(1, 1)), 0);
            assert_eq!(zipf.mass(1), 1.0);
        }
    }
}
