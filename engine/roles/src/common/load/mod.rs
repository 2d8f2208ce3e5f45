//! The parts that load generators of all protocols share: start times of operations, request
//! numbers, judging of reads, and the final verification.

mod config;
mod judge;
mod senders;
mod staleness;
mod verification;

use std::collections::VecDeque;

use netkv_workload::{Arrivals, Random, exponential_gap};

use crate::{ClientCounts, Nanos};
pub use config::ClientConfig;
pub(crate) use judge::{Judge, Read};
pub(crate) use senders::Senders;
pub(crate) use verification::Verification;
pub use verification::VerifyReport;

/// Reads of a verification under way at a time, and how long one may take.
pub(crate) const VERIFYING: usize = 64;
pub(crate) const VERIFY_DEADLINE: Nanos = 10 * crate::SECOND;
/// Longest wait until such a read is sent again, also by protocols that send each operation of the
/// load once: a read that the server refuses or the network loses is no lost record.
pub(crate) const VERIFY_RETRY: Nanos = crate::SECOND / 2;

/// The phase of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Starts operations.
    Running,
    /// Starts no operations; those under way end.
    Paused,
    /// Reads back what was written.
    Verifying,
}

/// Decides when operations start.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) phase: Phase,
    arrivals: Arrivals,
    /// When the next operation arrives (open loop).
    next_arrival: Nanos,
    /// Intended starts of operations that wait (open loop).
    waiting: VecDeque<Nanos>,
    deadline: Nanos,
    max_outstanding: usize,
    max_waiting: usize,
}

impl Load {
    pub(crate) fn new(config: &ClientConfig) -> Self {
        Self {
            phase: Phase::Paused,
            arrivals: config.arrivals,
            next_arrival: Nanos::MAX,
            waiting: VecDeque::new(),
            deadline: config.deadline,
            max_outstanding: config.max_outstanding,
            max_waiting: config.max_waiting,
        }
    }

    /// Starts or resumes.
    pub(crate) fn start(&mut self, now: Nanos, random: &mut Random, counts: &mut ClientCounts) {
        self.phase = Phase::Running;
        self.set_arrivals(now, self.arrivals, random, counts);
    }

    /// Starts no more operations, and discards those that wait.
    pub(crate) fn pause(&mut self, counts: &mut ClientCounts) {
        self.phase = Phase::Paused;
        self.next_arrival = Nanos::MAX;
        self.discard(counts);
    }

    fn discard(&mut self, counts: &mut ClientCounts) {
        counts.discarded += self.waiting.len() as u64;
        self.waiting.clear();
    }

    pub(crate) fn set_arrivals(
        &mut self,
        now: Nanos,
        arrivals: Arrivals,
        random: &mut Random,
        counts: &mut ClientCounts,
    ) {
        self.arrivals = arrivals;
        self.next_arrival = Nanos::MAX;
        if let (Phase::Running, Arrivals::Poisson { rate }) = (self.phase, arrivals) {
            self.next_arrival = now.saturating_add(exponential_gap(random, rate));
        }
        if matches!(arrivals, Arrivals::Closed { .. }) {
            self.discard(counts);
        }
    }

    /// Queues the operations that have arrived until `now`.
    pub(crate) fn arrive(&mut self, now: Nanos, random: &mut Random, counts: &mut ClientCounts) {
        while self.next_arrival <= now {
            let arrival = self.next_arrival;
            if self.waiting.len() < self.max_waiting {
                self.waiting.push_back(arrival);
            } else {
                counts.unsent += 1;
            }
            let rate = match self.arrivals {
                Arrivals::Poisson { rate } => rate,
                Arrivals::Closed { .. } => 0.0,
            };
            self.next_arrival = arrival.saturating_add(exponential_gap(random, rate));
        }
    }

    /// Whether an operation starts whenever another one ends (closed loop).
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.arrivals, Arrivals::Closed { .. })
    }

    /// When the next operation arrives; `Nanos::MAX` for never.
    pub(crate) fn due(&self) -> Nanos {
        self.next_arrival
    }

    /// The intended start of the next operation, if one may start now, with `outstanding` others
    /// under way. `has_room` returns whether there is a request number for it.
    pub(crate) fn next(
        &mut self,
        now: Nanos,
        outstanding: usize,
        mut has_room: impl FnMut() -> bool,
        counts: &mut ClientCounts,
    ) -> Option<Nanos> {
        match (self.phase, self.arrivals) {
            (Phase::Running, Arrivals::Closed { outstanding: most }) => {
                (outstanding < most as usize && has_room()).then_some(now)
            }
            (Phase::Running, Arrivals::Poisson { .. }) => {
                while let Some(&intended) = self.waiting.front() {
                    if intended + self.deadline > now {
                        if outstanding >= self.max_outstanding || !has_room() {
                            return None;
                        }
                        self.waiting.pop_front();
                        return Some(intended);
                    }
                    self.waiting.pop_front();
                    counts.lost += 1;
                }
                None
            }
            (Phase::Paused | Phase::Verifying, _) => None,
        }
    }
}
