//! Timers that are never cancelled: whoever set one checks, when it is due, whether it still
//! means anything.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Nanos;

/// A queue of things by the time at which they are due.
#[derive(Debug)]
pub(crate) struct Timers<T: Ord> {
    heap: BinaryHeap<Reverse<(Nanos, T)>>,
}

impl<T: Ord> Timers<T> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new() }
    }

    pub(crate) fn set(&mut self, at: Nanos, what: T) {
        self.heap.push(Reverse((at, what)));
    }

    /// When the first timer is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the first timer that is due at `now`, with the time it was set for.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

/// Capped exponential back-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Wait before the first retry.
    pub initial: Nanos,
    /// Longest wait.
    pub cap: Nanos,
}

impl Backoff {
    /// Wait after `attempts` tries (at least 1) without an answer: it doubles up to the cap.
    pub fn wait(&self, attempts: u32) -> Nanos {
        let factor = 1u64 << attempts.saturating_sub(1).min(32);
        self.initial.saturating_mul(factor).min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let backoff = Backoff { initial: 10, cap: 65 };
        assert_eq!(
            [1, 2, 3, 4, 5, 99].map(|attempts| backoff.wait(attempts)),
            [10, 20, 40, 65, 65, 65]
        );
    }

    #[test]
    fn timers_come_in_order_and_not_early() {
        let mut timers = Timers::new();
        timers.set(5, 'b');
        timers.set(3, 'a');
        assert_eq!(timers.next(), Some(3));
        assert_eq!(timers.take(2), None);
        assert_eq!(timers.take(9), Some((3, 'a')));
        assert_eq!(timers.take(9), Some((5, 'b')));
        assert_eq!(timers.take(9), None);
    }
}
