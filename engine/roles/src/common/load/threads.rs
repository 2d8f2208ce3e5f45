//! The threads of a throttled closed loop: each has one operation under way, or waits for its tick.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::{Nanos, SECOND};

/// Threads that start an operation at each tick of their own, or later if one takes longer.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Time between two ticks of a thread.
    tick: Nanos,
    /// When each waiting thread starts its next operation, the earliest first.
    waiting: BinaryHeap<Reverse<Nanos>>,
    /// The operations under way and some that have ended, in the order of their starts: the start,
    /// and the tick for which a thread has started it (none: it has ended).
    busy: VecDeque<(Nanos, Option<Nanos>)>,
}

impl Threads {
    /// `count` threads with `rate` operations per second together.
    pub(super) fn new(count: u32, rate: f64) -> Self {
        let tick = f64::from(count) / rate * SECOND as f64;
        Self { tick: tick.clamp(1.0, 1e18) as Nanos, ..Self::default() }
    }

    /// Of `count` threads, `outstanding` have an operation under way: the others wait. Threads that
    /// begin have their ticks spread evenly, as `spread` draws from 0 to 1.
    pub(super) fn fill(
        &mut self,
        now: Nanos,
        count: usize,
        outstanding: usize,
        mut spread: impl FnMut() -> f64,
    ) {
        while self.waiting.len() + outstanding < count {
            self.waiting.push(Reverse(now + (spread() * self.tick as f64) as Nanos));
        }
    }

    /// Whether a thread starts an operation now; otherwise all wait for later ticks.
    pub(super) fn start(&mut self, now: Nanos) -> bool {
        let Some(Reverse(tick)) = self.waiting.peek().copied().filter(|it| it.0 <= now) else {
            return false;
        };
        self.waiting.pop();
        self.busy.push_back((now, Some(tick)));
        true
    }

    /// An operation that was started at `start` has ended, if a thread has started it.
    pub(super) fn end(&mut self, start: Nanos) {
        let first = self.busy.partition_point(|(at, _)| *at < start);
        let same = self.busy.range_mut(first..).take_while(|(at, _)| *at == start);
        let Some(tick) = same.map(|(_, tick)| tick).find(|tick| tick.is_some()) else { return };
        self.waiting.extend(tick.take().map(|tick| Reverse(tick + self.tick)));
        while self.busy.front().is_some_and(|(_, tick)| tick.is_none()) {
            self.busy.pop_front();
        }
    }

    /// When the next thread may start an operation, after `now`; `Nanos::MAX` if that is earlier, or
    /// if none waits.
    pub(super) fn due(&self, now: Nanos) -> Nanos {
        match self.waiting.peek() {
            Some(Reverse(tick)) if *tick > now => *tick,
            _ => Nanos::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_starts_at_its_answer_or_its_tick_whichever_is_later() {
        let mut threads = Threads::new(2, 20.0);
        let tick = SECOND / 10;
        threads.fill(0, 2, 0, || 0.0);
        assert_eq!([threads.start(0), threads.start(0), threads.start(0)], [true, true, false]);
        // One answer is early: its thread waits for the tick.
        threads.end(0);
        assert_eq!(threads.due(tick / 2), tick);
        assert!(!threads.start(tick / 2));
        assert!(threads.start(tick));
        assert_eq!(threads.due(tick), Nanos::MAX);
        // The other is two ticks late, and its thread makes up for them.
        threads.end(0);
        assert!(threads.start(3 * tick));
        threads.end(3 * tick);
        assert!(threads.start(3 * tick));
        threads.end(3 * tick);
        assert!(threads.start(3 * tick) && !threads.start(3 * tick));
        threads.end(5 * tick);
        let busy = threads.busy.iter().filter(|(_, tick)| tick.is_some()).count();
        assert_eq!(busy, 2, "nobody has started an operation then");
    }

    #[test]
    fn threads_without_an_operation_wait() {
        let mut threads = Threads::new(4, 1000.0);
        threads.fill(7, 4, 3, || 0.5);
        assert_eq!(threads.due(7), 7 + SECOND / 500);
        threads.fill(7, 4, 3, || 0.5);
        assert_eq!(threads.waiting.len(), 1);
    }
}
