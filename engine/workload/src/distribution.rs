//! Distributions of times, such as the service time of a request.

use crate::Random;

/// A distribution of times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// A constant.
    Constant(f64),
    /// Uniform between two times.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Log-normal: the median, and the standard deviation of the logarithm.
    LogNormal(f64, f64),
}

impl Distribution {
    /// Draws a time in nanoseconds. A constant uses no random number.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let nanos = match *self {
            Self::Constant(value) => value,
            Self::Uniform(low, high) => low + random.unit() * (high - low),
            Self::Exponential(mean) => -libm::log(1.0 - random.unit()) * mean,
            Self::LogNormal(median, sigma) => median * libm::exp(sigma * normal(random)),
        };
        nanos as u64
    }

    /// Its mean in nanoseconds.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform(low, high) => (low + high) / 2.0,
            Self::Exponential(mean) => mean,
            Self::LogNormal(median, sigma) => median * libm::exp(sigma * sigma / 2.0),
        }
    }
}

/// A draw from the standard normal distribution (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
    radius * libm::cos(2.0 * std::f64::consts::PI * random.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_of_the_distribution() {
        let mut random = Random::new(5, 1);
        for distribution in [
            Distribution::Constant(700.0),
            Distribution::Uniform(100.0, 900.0),
            Distribution::Exponential(5_000.0),
            Distribution::LogNormal(2_000.0, 0.5),
        ] {
            let sum: u64 = (0..200_000).map(|_| distribution.draw(&mut random)).sum();
            let mean = sum as f64 / 200_000.0;
            assert!((mean / distribution.mean() - 1.0).abs() < 0.01, "{distribution:?}: {mean}");
        }
    }
}
