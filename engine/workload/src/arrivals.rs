//! When operations start.

use crate::Random;

/// How a client decides when to start an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Open loop: a Poisson process with this rate in operations per second, whatever the
    /// system does. 0 pauses.
    Poisson {
        /// Operations per second.
        rate: f64,
    },
    /// Closed loop: always so many operations outstanding. 0 pauses.
    Closed {
        /// Operations outstanding.
        outstanding: u32,
    },
}

/// Time to the next arrival of a Poisson process with `rate` per second, in nanoseconds.
/// A rate of 0 (or no number) never arrives: `u64::MAX`.
pub fn exponential_gap(random: &mut Random, rate: f64) -> u64 {
    // NaN must not arrive either, so the comparison is not turned round.
    if rate > 0.0 { (-libm::log(1.0 - random.unit()) / rate * 1e9) as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_a_poisson_process() {
        let mut random = Random::new(4, 4);
        let gaps: Vec<f64> =
            (0..200_000).map(|_| exponential_gap(&mut random, 50_000.0) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 20_000.0 - 1.0).abs() < 0.01, "mean {mean} ns");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "deviation is the mean");
        let late = gaps.iter().filter(|gap| **gap > 40_000.0).count() as f64 / gaps.len() as f64;
        assert!((late - (-2f64).exp()).abs() < 0.004, "{late} wait more than twice the mean");
    }

    #[test]
    fn no_rate_means_no_arrival() {
        assert_eq!(exponential_gap(&mut Random::new(1, 1), 0.0), u64::MAX);
        assert_eq!(exponential_gap(&mut Random::new(1, 1), f64::NAN), u64::MAX);
    }
}
