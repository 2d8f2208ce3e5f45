//! Decides when operations of a load start.

use netkv_workload::{Arrivals, exponential_gap};

use super::threads::Threads;
use super::{Load, Phase};
use crate::Nanos;

impl Load {
    /// Starts no more operations, and discards those that wait; those under way end.
    pub fn pause(&mut self) {
        self.phase = Phase::Paused;
        self.next_arrival = Nanos::MAX;
        self.discard();
    }

    fn discard(&mut self) {
        self.stats.counts.discarded += self.waiting.len() as u64;
        self.waiting.clear();
    }

    /// Starts or resumes.
    pub(crate) fn start(&mut self, now: Nanos) {
        self.verification = None;
        self.phase = Phase::Running;
        self.set_arrivals(now, self.config.arrivals);
    }

    pub(crate) fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals) {
        self.config.arrivals = arrivals;
        self.next_arrival = Nanos::MAX;
        let random = self.workload.random();
        if let (Phase::Running, Arrivals::Poisson { rate }) = (self.phase, arrivals) {
            self.next_arrival = now.saturating_add(exponential_gap(random, rate));
        }
        if let Arrivals::Throttled { threads, rate } = arrivals {
            self.threads = Threads::new(threads, rate);
        }
        if !self.is_open() {
            self.discard();
        }
    }

    /// Queues the operations that have arrived until `now`.
    pub(super) fn arrive(&mut self, now: Nanos) {
        while self.is_open() && self.next_arrival <= now {
            let arrival = self.next_arrival;
            if self.waiting.len() < self.config.max_waiting {
                self.waiting.push_back(arrival);
            } else {
                self.stats.counts.unsent += 1;
            }
            let rate = match self.config.arrivals {
                Arrivals::Poisson { rate } => rate,
                Arrivals::Closed { .. } | Arrivals::Throttled { .. } => 0.0,
            };
            let gap = exponential_gap(self.workload.random(), rate);
            self.next_arrival = arrival.saturating_add(gap);
        }
    }

    /// Whether operations arrive whether or not others end.
    fn is_open(&self) -> bool {
        matches!(self.config.arrivals, Arrivals::Poisson { .. })
    }

    /// Whether an operation starts whenever another one ends (closed loop).
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.config.arrivals, Arrivals::Closed { .. })
    }

    /// The intended start of the next operation, if one may start now; see
    /// [`Source::next`](crate::common::source::Source::next).
    pub(super) fn next_start(
        &mut self,
        now: Nanos,
        outstanding: usize,
        mut has_room: impl FnMut() -> bool,
    ) -> Option<Nanos> {
        match (self.phase, self.config.arrivals) {
            (Phase::Running, Arrivals::Closed { outstanding: most }) => {
                (outstanding < most as usize && has_room()).then_some(now)
            }
            (Phase::Running, Arrivals::Throttled { threads: count, .. }) => {
                let random = self.workload.random();
                self.threads.fill(now, count as usize, outstanding, || random.unit());
                let room = outstanding < count as usize && has_room();
                let starts = room && self.threads.start(now);
                self.next_arrival = self.threads.due(now);
                starts.then_some(now)
            }
            (Phase::Running, Arrivals::Poisson { .. }) => {
                while let Some(&intended) = self.waiting.front() {
                    if intended + self.config.deadline > now {
                        if outstanding >= self.config.max_outstanding || !has_room() {
                            return None;
                        }
                        self.waiting.pop_front();
                        return Some(intended);
                    }
                    self.waiting.pop_front();
                    self.stats.counts.lost += 1;
                }
                None
            }
            (Phase::Paused | Phase::Verifying, _) => None,
        }
    }
}
