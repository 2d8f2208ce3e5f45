//! A load over any protocol: the start times of operations, the workload that they are drawn from,
//! the judging of reads, the final verification, and statistics.

mod config;
mod judge;
mod outcomes;
mod schedule;
mod staleness;
mod threads;
mod verification;

use std::collections::VecDeque;

use netkv_workload::{Workload, record_number};

use crate::{ClientStats, Nanos};
pub use config::ClientConfig;
pub use judge::Judge;
use threads::Threads;
use verification::Verification;
pub use verification::VerifyReport;

/// Longest wait until a read of the verification is sent again, also by protocols that send each
/// operation of the load once: a read that the server refuses or the network loses is no lost record.
pub(crate) const VERIFY_RETRY: Nanos = crate::SECOND / 2;

/// The phase of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Starts operations.
    Running,
    /// Starts no operations; those under way end.
    Paused,
    /// Reads back what was written.
    Verifying,
}

/// The load of the clients of a process.
#[derive(Debug)]
pub struct Load {
    config: ClientConfig,
    phase: Phase,
    /// When the next operation arrives (open loop), or a thread starts one (throttled).
    next_arrival: Nanos,
    /// Intended starts of operations that wait (open loop).
    waiting: VecDeque<Nanos>,
    /// Those of a throttled closed loop.
    threads: Threads,
    /// The workload: popular keys, and the mix of operations.
    pub workload: Workload,
    /// The history, and what it shows.
    pub judge: Judge,
    pub(crate) verification: Option<Verification>,
    /// Counters since they were last taken.
    pub stats: ClientStats,
    /// The ids of the keys of the operation that starts, if it has several.
    pub(crate) ids: Vec<u64>,
}

impl Load {
    /// A load that starts no operation yet.
    pub fn new(config: ClientConfig, workload: Workload) -> Self {
        Self {
            config,
            phase: Phase::Paused,
            next_arrival: Nanos::MAX,
            waiting: VecDeque::new(),
            threads: Threads::default(),
            workload,
            judge: Judge::new(&config),
            verification: None,
            stats: ClientStats::default(),
            ids: Vec::new(),
        }
    }

    /// Whether a key has an initial value.
    #[inline]
    pub(crate) fn exists(&self, id: u64) -> bool {
        record_number(id) < self.workload.config().keys
    }

    /// From now on reads back every key that was written.
    pub(crate) fn verify(&mut self) {
        self.pause();
        self.phase = Phase::Verifying;
        self.verification = Some(Verification::default());
    }
}
