//! The distribution of the number of keys of a multiget.

use crate::Random;

/// Maximum number of keys of one multiget.
pub const MAX_MULTIGET: usize = 128;

/// A distribution of the number of keys of a multiget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MultigetSize {
    /// A fixed number.
    Fixed(usize),
    /// Uniform from `min` to `max`, both included.
    Uniform {
        /// Minimum.
        min: usize,
        /// Maximum.
        max: usize,
    },
    /// A truncated power law: k keys, from 1 to [`MAX_MULTIGET`], with a probability proportional
    /// to k^-s. The exponent s is determined by the mean.
    HeavyTailed {
        /// Mean number of keys.
        mean: f64,
    },
}

impl MultigetSize {
    /// The sizes measured in production (Rein, EuroSys 2017): heavy-tailed with a mean of 8.6 keys.
    pub const PRODUCTION: MultigetSize = MultigetSize::HeavyTailed { mean: 8.6 };

    /// Checks the bounds.
    ///
    /// # Errors
    ///
    /// A sentence with the error and the limits.
    pub fn check(self) -> Result<(), String> {
        let (min, max) = match self {
            MultigetSize::Fixed(size) => (size, size),
            MultigetSize::Uniform { min, max } => (min, max),
            MultigetSize::HeavyTailed { mean } => {
                let max_mean = MAX_MULTIGET as f64 / 2.0;
                return if (1.0..=max_mean).contains(&mean) {
                    Ok(())
                } else {
                    Err(format!(
                        "a heavy-tailed multiget has from 1 to {max_mean} keys on average, not \
                         {mean}"
                    ))
                };
            }
        };
        if min < 1 || max > MAX_MULTIGET || min > max {
            return Err(format!(
                "multigets of {min} to {max} keys are not possible; the limits are 1 to \
                 {MAX_MULTIGET}, the smaller number first"
            ));
        }
        Ok(())
    }
}

/// Draws sizes of multigets.
#[derive(Debug, Clone)]
pub(crate) struct SizeSampler {
    size: MultigetSize,
    /// Cumulative probabilities of 1, 2, 3 and so on keys, for a power law.
    cumulative: Vec<f64>,
}

impl SizeSampler {
    /// A sampler of a distribution that was checked.
    pub(crate) fn new(size: MultigetSize) -> Self {
        let cumulative = match size {
            MultigetSize::HeavyTailed { mean } => cumulative_probabilities(exponent(mean)),
            _ => Vec::new(),
        };
        Self { size, cumulative }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        match self.size {
            MultigetSize::Fixed(size) => size,
            MultigetSize::Uniform { min, max } => {
                min + random.below((max - min + 1) as u64) as usize
            }
            MultigetSize::HeavyTailed { .. } => {
                let unit = random.unit();
                (self.cumulative.partition_point(|cumulative| *cumulative <= unit) + 1)
                    .min(MAX_MULTIGET)
            }
        }
    }
}

/// The exponent of the power law with this mean, by bisection. The mean decreases with it.
fn exponent(mean: f64) -> f64 {
    let (mut low, mut high) = (0.0, 64.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if mean_of(middle) > mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn weights(exponent: f64) -> impl Iterator<Item = (f64, f64)> {
    (1..=MAX_MULTIGET).map(move |keys| (keys as f64, libm::pow(keys as f64, -exponent)))
}

fn mean_of(exponent: f64) -> f64 {
    let (sum, all) = weights(exponent)
        .fold((0.0, 0.0), |(sum, all), (keys, weight)| (sum + keys * weight, all + weight));
    sum / all
}

fn cumulative_probabilities(exponent: f64) -> Vec<f64> {
    let all: f64 = weights(exponent).map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    weights(exponent)
        .map(|(_, weight)| {
            sum += weight / all;
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(size: MultigetSize) -> Vec<usize> {
        size.check().unwrap();
        let sizes = SizeSampler::new(size);
        let mut random = Random::new(3, 1);
        (0..200_000).map(|_| sizes.draw(&mut random)).collect()
    }

    fn mean(sizes: &[usize]) -> f64 {
        sizes.iter().sum::<usize>() as f64 / sizes.len() as f64
    }

    #[test]
    fn production_sizes_have_their_mean_and_a_heavy_tail() {
        let sizes = drawn(MultigetSize::PRODUCTION);
        assert!((mean(&sizes) - 8.6).abs() < 0.2, "{}", mean(&sizes));
        assert!(sizes.iter().all(|size| (1..=MAX_MULTIGET).contains(size)));
        let share = |from: usize, to: usize| {
            sizes.iter().filter(|size| (from..=to).contains(*size)).count() as f64 / 2e5
        };
        // With an exponential tail, 1 in 100,000 would have more than 100 keys.
        assert!(share(1, 1) > 0.3 && share(2, 2) < share(1, 1) / 2.0);
        assert!(share(101, 128) > 0.005, "{}", share(101, 128));
    }

    #[test]
    fn draws_have_the_configured_mean() {
        for wanted in [1.0, 2.0, 16.0, 32.0, 64.0] {
            let found = mean(&drawn(MultigetSize::HeavyTailed { mean: wanted }));
            assert!((found / wanted - 1.0).abs() < 0.02, "{found} for {wanted}");
        }
        assert_eq!(mean(&drawn(MultigetSize::Fixed(16))), 16.0);
        let uniform = drawn(MultigetSize::Uniform { min: 2, max: 4 });
        assert!((mean(&uniform) - 3.0).abs() < 0.01);
        assert_eq!((uniform.iter().min(), uniform.iter().max()), (Some(&2), Some(&4)));
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_limits() {
        assert!(MultigetSize::Fixed(0).check().unwrap_err().contains("1 to 128"));
        assert!(MultigetSize::Fixed(129).check().is_err());
        assert!(MultigetSize::Uniform { min: 3, max: 2 }.check().is_err());
        assert!(MultigetSize::HeavyTailed { mean: 0.5 }.check().unwrap_err().contains("1 to 64"));
        assert!(MultigetSize::HeavyTailed { mean: f64::NAN }.check().is_err());
    }
}
