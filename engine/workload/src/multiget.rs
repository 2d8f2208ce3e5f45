//! How many keys a multiget asks for.

use crate::Random;

/// Most keys of one multiget.
pub const MAX_MULTIGET: usize = 128;

/// How many keys a multiget asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MultigetSize {
    /// Always so many.
    Fixed(usize),
    /// Every number from `min` to `max`, both included, equally likely.
    Uniform {
        /// Smallest.
        min: usize,
        /// Largest.
        max: usize,
    },
    /// Most are small and a few are large: k keys with a probability that is proportional to
    /// k^-s, from 1 to [`MAX_MULTIGET`] (a truncated power law), s being such that the mean is this.
    HeavyTailed {
        /// Keys on average.
        mean: f64,
    },
}

impl MultigetSize {
    /// As measured in production (Rein, EuroSys 2017): heavy-tailed with 8.6 keys on average.
    pub const PRODUCTION: MultigetSize = MultigetSize::HeavyTailed { mean: 8.6 };

    /// Checks the bounds.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong.
    pub fn check(self) -> Result<(), String> {
        let (min, max) = match self {
            MultigetSize::Fixed(size) => (size, size),
            MultigetSize::Uniform { min, max } => (min, max),
            MultigetSize::HeavyTailed { mean } => {
                let most = MAX_MULTIGET as f64 / 2.0;
                return if (1.0..=most).contains(&mean) {
                    Ok(())
                } else {
                    Err(format!(
                        "a heavy-tailed multiget has from 1 to {most} keys on average, not {mean}"
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
pub(crate) struct Sizes {
    size: MultigetSize,
    /// Probability of at most 1, 2, 3 and so on keys, if it follows a power law.
    up_to: Vec<f64>,
}

impl Sizes {
    /// For sizes that have been checked.
    pub(crate) fn new(size: MultigetSize) -> Self {
        let up_to = match size {
            MultigetSize::HeavyTailed { mean } => cumulated(exponent(mean)),
            _ => Vec::new(),
        };
        Self { size, up_to }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        match self.size {
            MultigetSize::Fixed(size) => size,
            MultigetSize::Uniform { min, max } => {
                min + random.below((max - min + 1) as u64) as usize
            }
            MultigetSize::HeavyTailed { .. } => {
                let unit = random.unit();
                (self.up_to.partition_point(|up_to| *up_to <= unit) + 1).min(MAX_MULTIGET)
            }
        }
    }
}

/// The exponent of the power law with this mean. The mean falls as it grows.
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

fn cumulated(exponent: f64) -> Vec<f64> {
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
        let sizes = Sizes::new(size);
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
        // A tail like that of an exponential distribution has 1 in 100,000 above 100 keys.
        assert!(share(1, 1) > 0.3 && share(2, 2) < share(1, 1) / 2.0);
        assert!(share(101, 128) > 0.005, "{}", share(101, 128));
    }

    #[test]
    fn every_mean_is_met() {
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
    fn impossible_sizes_are_refused_with_what_is_possible() {
        assert!(MultigetSize::Fixed(0).check().unwrap_err().contains("1 to 128"));
        assert!(MultigetSize::Fixed(129).check().is_err());
        assert!(MultigetSize::Uniform { min: 3, max: 2 }.check().is_err());
        assert!(MultigetSize::HeavyTailed { mean: 0.5 }.check().unwrap_err().contains("1 to 64"));
        assert!(MultigetSize::HeavyTailed { mean: f64::NAN }.check().is_err());
    }
}
