//! Moments: the order of events at this process, exact, and when they were.
//!
//! Two events never share a moment, even if the driver's clock shows the same nanosecond. A moment
//! has the nanosecond in its high bits and a count in the low ones.

/// Bits that count events within a nanosecond; more events than that move into the next one.
const COUNT_BITS: u32 = 12;
/// After so many nanoseconds (26 days) moments are only counted on; the order stays exact.
const LONGEST: u64 = 1 << 51;

/// Gives out moments.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// Nanoseconds of the first event.
    base: Option<u64>,
    last: u64,
}

impl Moments {
    /// The moment of an event at `now` nanoseconds: after all before it.
    pub(crate) fn next(&mut self, now: u64) -> u64 {
        let since = now.saturating_sub(*self.base.get_or_insert(now)).min(LONGEST);
        self.last = (self.last + 1).max((since + 1) << COUNT_BITS);
        self.last
    }

    /// The driver's nanoseconds of a moment.
    pub(crate) fn nanos(&self, moment: u64) -> u64 {
        self.base.unwrap_or(0) + (moment >> COUNT_BITS).saturating_sub(1)
    }
}

/// Before all moments: when the initial value was written.
pub(crate) const BEFORE: u64 = 0;
/// Stand for the times of a write that is no longer remembered.
pub(crate) const FORGOTTEN: (u64, u64) = (1, 2);
/// The same of a key's last write (see [`crate::settled`]): later than what else is forgotten.
pub(crate) const SETTLED: (u64, u64) = (3, 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_nanosecond_keep_their_order_and_all_keep_their_time() {
        let mut moments = Moments::default();
        let mut before = SETTLED.1;
        for now in [5_000_000_000u64, 5_000_000_000, 5_000_000_000, 5_000_000_001, 9_000_000_000] {
            let moment = moments.next(now);
            assert!(moment > before);
            assert_eq!(moments.nanos(moment), now);
            before = moment;
        }
        let far = moments.next(u64::MAX);
        assert!(moments.next(u64::MAX) > far);
    }
}
