//! A total order of the events at this process, with the time of each.
//!
//! Two events never have the same timestamp, even within one nanosecond of the driver's clock. The
//! high bits of a timestamp are the nanosecond, the low ones count the events within it.

/// Bits of the count of events within a nanosecond. If they overflow, the nanosecond advances.
const COUNT_BITS: u32 = 12;
/// After this time (26 days) timestamps only count events; their order remains exact.
const MAX_ELAPSED_NS: u64 = 1 << 51;

/// Assigns timestamps.
#[derive(Debug, Default)]
pub(crate) struct EventClock {
    /// The driver's nanoseconds of the first event.
    base: Option<u64>,
    last: u64,
}

impl EventClock {
    /// The timestamp of an event at `now` nanoseconds. It is larger than all earlier ones.
    pub(crate) fn next(&mut self, now: u64) -> u64 {
        let elapsed = now.saturating_sub(*self.base.get_or_insert(now)).min(MAX_ELAPSED_NS);
        self.last = (self.last + 1).max((elapsed + 1) << COUNT_BITS);
        self.last
    }

    /// The driver's nanoseconds of a timestamp.
    pub(crate) fn nanos(&self, time: u64) -> u64 {
        self.base.unwrap_or(0) + (time >> COUNT_BITS).saturating_sub(1)
    }
}

/// The timestamp of the write of the initial value, before all events.
pub(crate) const INITIAL_TIME: u64 = 0;
/// Stands for the interval of a write that was forgotten.
pub(crate) const FORGOTTEN_INTERVAL: (u64, u64) = (1, 2);
/// Stands for the interval of the last write of a compact history (see [`crate::compact`]). It is
/// later than those of other forgotten writes.
pub(crate) const COMPACT_INTERVAL: (u64, u64) = (3, 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_nanosecond_have_ordered_timestamps() {
        let mut clock = EventClock::default();
        let mut last = COMPACT_INTERVAL.1;
        for now in [5_000_000_000u64, 5_000_000_000, 5_000_000_000, 5_000_000_001, 9_000_000_000] {
            let time = clock.next(now);
            assert!(time > last);
            assert_eq!(clock.nanos(time), now);
            last = time;
        }
        let far = clock.next(u64::MAX);
        assert!(clock.next(u64::MAX) > far);
    }
}
