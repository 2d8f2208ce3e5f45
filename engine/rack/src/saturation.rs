//! Search for the saturation throughput of a rack: the client adjusts its sending rate so that the
//! loss stays between half a limit and the limit (0.5% to 1% in the papers' evaluations).

use netkv_roles::Nanos;

/// While the loss is below a tenth of the limit, the rate grows by this factor each interval.
const SEARCH_FACTOR: f64 = 1.25;
/// After a higher loss, so many intervals below a tenth of the limit must pass before that.
const CALM_INTERVALS: u32 = 3;
/// Otherwise the rate changes by this share, in both directions.
const STEP: f64 = 0.03;
/// Far above the limit, the rate decreases by this share.
const LARGE_STEP: f64 = 0.15;
/// A loss above this multiple of the limit is far above it.
const FAR_ABOVE: f64 = 4.0;

/// Controls the rate of an open-loop load: see the module.
#[derive(Debug, Clone)]
pub struct Saturation {
    limit: f64,
    every: Nanos,
    next: Nanos,
    rate: f64,
    /// Consecutive intervals with a loss below a tenth of the limit.
    calm: u32,
    /// Completed and lost operations at the beginning of the interval.
    counted: (u64, u64),
}

impl Saturation {
    /// Starts with `rate` (operations a second) and measures the loss each `every`, which must be
    /// longer than the deadline of an operation.
    pub fn new(limit: f64, rate: f64, every: Nanos) -> Self {
        Self { limit, every, next: Nanos::MAX, rate, calm: CALM_INTERVALS, counted: (0, 0) }
    }

    /// The present rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Starts measuring: the load begins at `now`.
    pub fn start(&mut self, now: Nanos, completed: u64, lost: u64) {
        self.next = now + self.every;
        self.counted = (completed, lost);
    }

    /// Stops measuring: there is no load from now on.
    pub fn stop(&mut self) {
        self.next = Nanos::MAX;
    }

    /// When to call [`Saturation::adjust`]; `Nanos::MAX` if there is no load.
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Ends an interval. `completed` and `lost` are counts since the start. Returns the new rate if
    /// it changes.
    pub fn adjust(&mut self, completed: u64, lost: u64) -> Option<f64> {
        let (completed_before, lost_before) =
            std::mem::replace(&mut self.counted, (completed, lost));
        let (completed, lost) = (completed - completed_before, lost - lost_before);
        self.next += self.every;
        let all = completed + lost;
        if all == 0 {
            return None;
        }
        let loss = lost as f64 / all as f64;
        self.calm = if loss < self.limit / 10.0 { self.calm.saturating_add(1) } else { 0 };
        let factor = if loss > FAR_ABOVE * self.limit {
            1.0 - LARGE_STEP
        } else if loss > self.limit {
            1.0 - STEP
        } else if loss >= self.limit / 2.0 {
            return None;
        } else if self.calm > CALM_INTERVALS {
            SEARCH_FACTOR
        } else {
            1.0 + STEP
        };
        self.rate *= factor;
        Some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rack in which one bottleneck gets a twentieth of the load. It is saturated when the whole
    /// load is `capacity` operations a second.
    struct Rack {
        saturation: Saturation,
        completed: f64,
        lost: f64,
    }

    impl Rack {
        fn new() -> Self {
            let mut saturation = Saturation::new(0.01, 1000.0, 100);
            saturation.start(0, 0, 0);
            Self { saturation, completed: 0.0, lost: 0.0 }
        }

        /// Runs so many intervals; returns the loss of the last one.
        fn settle(&mut self, capacity: f64, intervals: usize) -> f64 {
            let mut share = 0.0;
            for _ in 0..intervals {
                let rate = self.saturation.rate();
                let refused = ((rate - capacity) * 0.05).max(0.0);
                share = refused / rate;
                self.completed += rate - refused;
                self.lost += refused;
                self.saturation.adjust(self.completed as u64, self.lost as u64);
            }
            share
        }
    }

    #[test]
    fn the_rate_settles_just_below_the_limit_of_loss() {
        for capacity in [5_000.0, 300_000.0, 4e7] {
            let mut rack = Rack::new();
            let share = rack.settle(capacity, 400);
            let rate = rack.saturation.rate();
            assert!((0.004..=0.012).contains(&share), "{share} of {rate} lost");
            assert!((1.08..=1.3).contains(&(rate / capacity)), "{rate} for {capacity}");
        }
    }

    #[test]
    fn a_tenfold_capacity_is_found_in_few_intervals() {
        let mut rack = Rack::new();
        rack.settle(20_000.0, 200);
        rack.settle(200_000.0, 25);
        assert!(rack.saturation.rate() > 200_000.0, "{}", rack.saturation.rate());
    }

    #[test]
    fn without_load_there_is_no_deadline() {
        let mut saturation = Saturation::new(0.01, 1000.0, 100);
        assert_eq!(saturation.next(), Nanos::MAX);
        saturation.start(50, 0, 0);
        assert_eq!(saturation.next(), 150);
        assert_eq!(saturation.adjust(0, 0), None);
        saturation.stop();
        assert_eq!(saturation.next(), Nanos::MAX);
    }
}
