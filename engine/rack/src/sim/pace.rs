//! The rate of events: it decides how far parts advance at a time, and whether threads are worth it.
//! No result depends on it.

use netkv_roles::Nanos;

/// Number of events for which parts advance at a time.
const STRIDE: f64 = 1_000.0;
/// Least number of events of a step for which threads are worth it, and of a job for one of them.
const WORTH_THREADS: f64 = 100.0;
/// A span with so many events counts as much as all before it.
const SPAN: f64 = 4_000.0;

#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Events in a nanosecond of virtual time, recently.
    rate: f64,
}

impl Pace {
    /// How far parts advance at a time, at most `longest`: what they send each other should be in the
    /// nearer caches when it arrives.
    pub(super) fn stride(&self, longest: Nanos) -> Nanos {
        if self.rate * longest as f64 <= STRIDE {
            return longest;
        }
        (STRIDE / self.rate) as Nanos + 1
    }

    /// Whether there is enough to do in a step for two threads.
    pub(super) fn is_worth_threads(&self, step: Nanos) -> bool {
        self.rate * step as f64 >= WORTH_THREADS
    }

    /// The least step of a part for which another thread is worth it.
    pub(super) fn least_job(&self) -> Nanos {
        (WORTH_THREADS / self.rate) as Nanos
    }

    /// There were so many events in so many nanoseconds.
    pub(super) fn note(&mut self, events: u64, span: Nanos) {
        if events > 0 && span > 0 {
            let weight = events as f64 / (events as f64 + SPAN);
            self.rate += weight * (events as f64 / span as f64 - self.rate);
        }
    }
}
