//! A rate that follows the loss, to find what a rack can take: the client adjusts its sending rate to
//! keep the loss between 0.5% and 1%, as in the papers' evaluations.

use netkv_roles::Nanos;

/// While next to nothing is lost the rate grows by this factor each interval.
const SEARCH: f64 = 1.25;
/// After so many intervals like that, where there was loss before.
const CALM: u32 = 3;
/// Afterwards it changes by this share at most, in both directions.
const STEP: f64 = 0.03;
/// Far above the limit it falls by this.
const RETREAT: f64 = 0.15;
/// More than this many times the limit is far above it.
const FAR: f64 = 4.0;

/// The rate of an open loop that keeps the share of lost operations between half a limit and the
/// limit.
#[derive(Debug, Clone)]
pub struct Saturation {
    limit: f64,
    every: Nanos,
    next: Nanos,
    rate: f64,
    /// Intervals in which next to nothing was lost.
    calm: u32,
    /// Completed and lost operations that were counted when the interval began.
    counted: (u64, u64),
}

impl Saturation {
    /// Begins with `rate` (operations a second) and looks at the loss each `every`, which must be
    /// longer than it takes to give an operation up.
    pub fn new(limit: f64, rate: f64, every: Nanos) -> Self {
        Self { limit, every, next: Nanos::MAX, rate, calm: CALM, counted: (0, 0) }
    }

    /// The present rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The load begins at `now`.
    pub fn start(&mut self, now: Nanos, completed: u64, lost: u64) {
        self.next = now + self.every;
        self.counted = (completed, lost);
    }

    /// No load from now on.
    pub fn stop(&mut self) {
        self.next = Nanos::MAX;
    }

    /// When to call [`Saturation::adjust`]; `Nanos::MAX` if there is no load.
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// An interval is over; what was completed and lost since the start. The new rate, if it is
    /// another one.
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
        let factor = if loss > FAR * self.limit {
            1.0 - RETREAT
        } else if loss > self.limit {
            1.0 - STEP
        } else if loss >= self.limit / 2.0 {
            return None;
        } else if self.calm > CALM {
            SEARCH
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

    /// A rack of which one part in twenty is full at `capacity` operations a second of the whole.
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

        /// Lets so many intervals pass; the share that is lost in the last one.
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
    fn a_rack_of_ten_times_the_rate_is_found_in_few_intervals() {
        let mut rack = Rack::new();
        rack.settle(20_000.0, 200);
        rack.settle(200_000.0, 25);
        assert!(rack.saturation.rate() > 200_000.0, "{}", rack.saturation.rate());
    }

    #[test]
    fn without_load_nothing_is_due() {
        let mut saturation = Saturation::new(0.01, 1000.0, 100);
        assert_eq!(saturation.next(), Nanos::MAX);
        saturation.start(50, 0, 0);
        assert_eq!(saturation.next(), 150);
        assert_eq!(saturation.adjust(0, 0), None);
        saturation.stop();
        assert_eq!(saturation.next(), Nanos::MAX);
    }
}
