//! The reads under way, of all keys.

use std::collections::VecDeque;

/// Places that are kept although their reads are over.
const SLACK: usize = 64;

/// When the reads under way began.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Ascending; whether it is still under way.
    begun: VecDeque<(u64, bool)>,
    open: usize,
}

impl Reading {
    /// A read begins, later than all before.
    pub(crate) fn begin(&mut self, moment: u64) {
        self.begun.push_back((moment, true));
        self.open += 1;
    }

    /// The read that began then is over.
    pub(crate) fn end(&mut self, moment: u64) {
        let Ok(at) = self.begun.binary_search_by_key(&moment, |(begun, _)| *begun) else { return };
        self.open -= usize::from(std::mem::replace(&mut self.begun[at].1, false));
        while self.begun.front().is_some_and(|(_, open)| !open) {
            self.begun.pop_front();
        }
        // One read that takes long must not hold all that came after it.
        if self.begun.len() > 2 * self.open + SLACK {
            self.begun.retain(|(_, open)| *open);
        }
    }

    /// When the oldest one began; the end of time if there is none.
    pub(crate) fn oldest(&self) -> u64 {
        self.begun.front().map_or(u64::MAX, |(begun, _)| *begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_read_is_known_and_one_that_takes_for_ever_holds_no_other() {
        let mut reading = Reading::default();
        assert_eq!(reading.oldest(), u64::MAX);
        reading.begin(5);
        for moment in 6..10_000 {
            reading.begin(moment);
            if moment > 10 {
                reading.end(moment - 4);
            }
            assert_eq!(reading.oldest(), 5);
            assert!(reading.begun.len() <= 2 * 6 + SLACK + 1);
        }
        reading.end(5);
        assert_eq!(reading.oldest(), 6, "it has not ended");
        reading.end(6);
        reading.end(6);
        assert_eq!(reading.oldest(), 9_996);
    }
}
