//! The arrival process: when operations start.

use crate::Random;

/// The arrival process of a client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Open loop: a Poisson process with a fixed rate. A rate of 0 pauses it.
    Poisson {
        /// Operations per second.
        rate: f64,
    },
    /// Closed loop: a fixed number of outstanding operations. 0 pauses it.
    Closed {
        /// Number of outstanding operations.
        outstanding: u32,
    },
    /// Throttled closed loop, as YCSB's: each of some threads has one operation outstanding, and
    /// starts the next one at its answer or its own tick, whichever is later.
    Throttled {
        /// Number of threads.
        threads: u32,
        /// Operations per second of all threads, at most.
        rate: f64,
    },
}

/// Time to the next arrival of a Poisson process with `rate` per second, in nanoseconds;
/// `u64::MAX` if the rate is 0 or not a number.
pub fn exponential_gap(random: &mut Random, rate: f64) -> u64 {
    // The comparison is also false for NaN, which must give no arrival.
    if rate > 0.0 { (-libm::log(1.0 - random.unit()) / rate * 1e9) as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_moments_of_a_poisson_process() {
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
