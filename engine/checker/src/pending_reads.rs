//! The invocations of the pending reads of all keys.

use std::collections::VecDeque;

/// Entries of completed reads that are kept before they are removed.
const SLACK: usize = 64;

/// The invocations of the pending reads.
#[derive(Debug, Default)]
pub(crate) struct PendingReads {
    /// Invocations, ascending, and whether the read is still pending.
    invocations: VecDeque<(u64, bool)>,
    open: usize,
}

impl PendingReads {
    /// Adds a read with the latest invocation.
    pub(crate) fn begin(&mut self, time: u64) {
        self.invocations.push_back((time, true));
        self.open += 1;
    }

    /// Removes the read with this invocation.
    pub(crate) fn end(&mut self, time: u64) {
        let Ok(at) = self.invocations.binary_search_by_key(&time, |(invocation, _)| *invocation)
        else {
            return;
        };
        self.open -= usize::from(std::mem::replace(&mut self.invocations[at].1, false));
        while self.invocations.front().is_some_and(|(_, open)| !open) {
            self.invocations.pop_front();
        }
        // A long read at the front must not keep the entries of all completed reads behind it.
        if self.invocations.len() > 2 * self.open + SLACK {
            self.invocations.retain(|(_, open)| *open);
        }
    }

    /// The invocation of the oldest one; [`u64::MAX`] if there is none.
    pub(crate) fn oldest(&self) -> u64 {
        self.invocations.front().map_or(u64::MAX, |(invocation, _)| *invocation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_read_does_not_keep_entries_of_completed_reads() {
        let mut reading = PendingReads::default();
        assert_eq!(reading.oldest(), u64::MAX);
        reading.begin(5);
        for time in 6..10_000 {
            reading.begin(time);
            if time > 10 {
                reading.end(time - 4);
            }
            assert_eq!(reading.oldest(), 5);
            assert!(reading.invocations.len() <= 2 * 6 + SLACK + 1);
        }
        reading.end(5);
        assert_eq!(reading.oldest(), 6, "it has not ended");
        reading.end(6);
        reading.end(6);
        assert_eq!(reading.oldest(), 9_996);
    }
}
