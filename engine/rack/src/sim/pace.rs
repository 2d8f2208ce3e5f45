//! The rate of events: it decides how far parts advance at a time, and whether threads are worth
//! it. No result depends on it.

use std::time::Duration;

use netkv_roles::Nanos;

/// Number of events for which parts advance at a time.
const STRIDE: f64 = 1_000.0;
/// Least number of events of a step for which threads are worth it, and of a job for one of them.
const WORTH_THREADS: f64 = 100.0;
/// After so many events the slower way is tried again: other programs may have ended that shared
/// the cores, or begun.
const TRIAL: u64 = 400_000;
/// Least number of events whose wall time is compared.
const COMPARED: u64 = 2_000;
/// A span with so many events counts as much as all before it.
const SPAN: f64 = 4_000.0;

#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Events in a nanosecond of virtual time, recently.
    rate: f64,
    /// Wall time of an event in turns and in threads, in nanoseconds; 0: not known.
    costs: [f64; 2],
    /// Events since both ways were compared.
    since_trial: u64,
}

impl Pace {
    /// How far parts advance at a time, at most `longest`. With short steps few frames between
    /// parts are stored, and parts in threads need not wait long for each other.
    pub(super) fn stride(&self, longest: Nanos) -> Nanos {
        if self.rate * longest as f64 <= STRIDE {
            return longest;
        }
        (STRIDE / self.rate) as Nanos + 1
    }

    /// Whether the next events are for several threads: there is enough to do in a step for two of
    /// them, and they were faster when both ways were last compared, or it is time to try again.
    pub(super) fn chooses_threads(&mut self, step: Nanos) -> bool {
        if self.rate * (step as f64) < WORTH_THREADS {
            return false;
        }
        let [in_turns, in_threads] = self.costs;
        if in_turns == 0.0 || in_threads == 0.0 {
            return in_turns != 0.0;
        }
        let are_faster = in_threads < in_turns;
        if self.since_trial < TRIAL {
            return are_faster;
        }
        self.since_trial = 0;
        !are_faster
    }

    /// So many events took so long.
    pub(super) fn compare(&mut self, threads: bool, events: u64, wall: Duration) {
        self.since_trial += events;
        if events >= COMPARED {
            let cost = wall.as_nanos() as f64 / events as f64;
            let known = &mut self.costs[usize::from(threads)];
            *known = if *known == 0.0 { cost } else { f64::midpoint(*known, cost) };
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// With 10 events in each microsecond.
    fn busy() -> Pace {
        let mut pace = Pace::default();
        pace.note(1_000_000, 100_000_000);
        pace
    }

    fn compare(pace: &mut Pace, threads: bool, events: u64, nanos_each: u64) {
        pace.compare(threads, events, Duration::from_nanos(events * nanos_each));
    }

    #[test]
    fn a_step_has_about_a_thousand_events_if_the_lookahead_allows_it() {
        let pace = busy();
        assert_eq!(pace.stride(20_000), 20_000);
        assert!((99_000..=103_000).contains(&pace.stride(1_000_000)));
        assert_eq!(Pace::default().stride(1_000_000), 1_000_000);
    }

    #[test]
    fn few_events_are_not_worth_threads() {
        let mut pace = busy();
        compare(&mut pace, false, 20_000, 300);
        assert!(pace.chooses_threads(50_000));
        assert!(!pace.chooses_threads(5_000));
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_now_and_then() {
        let mut pace = busy();
        assert!(!pace.chooses_threads(50_000), "the time in turns is not known");
        compare(&mut pace, false, 20_000, 300);
        assert!(pace.chooses_threads(50_000), "the time in threads is not known");
        compare(&mut pace, true, 20_000, 500);
        assert!(!pace.chooses_threads(50_000), "threads are slower");
        compare(&mut pace, false, TRIAL, 300);
        assert!(pace.chooses_threads(50_000), "a trial");
        compare(&mut pace, true, 20_000, 100);
        assert!(!pace.chooses_threads(50_000), "300 on the average of both");
        compare(&mut pace, false, TRIAL, 300);
        assert!(pace.chooses_threads(50_000));
        compare(&mut pace, true, 20_000, 100);
        assert!(pace.chooses_threads(50_000), "threads are faster now");
        compare(&mut pace, true, 100, 100_000);
        assert!(pace.chooses_threads(50_000), "100 events say nothing");
    }
}
