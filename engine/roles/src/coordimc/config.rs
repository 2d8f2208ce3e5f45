//! Configuration and counters of a coordinator.

use crate::common::stats::counts;
use crate::kits::multiget::Layout;
use crate::options::CoordinatorOptions;
use crate::{Backoff, MAX_DEADLINE, MILLISECOND, Nanos, SECOND};

/// Most workers of a coordinator.
const MAX_WORKERS: u32 = 64;
/// Most requests under way that a coordinator may allow; each may hold 128 values.
const MAX_REQUESTS: usize = 1_000_000;

/// Configuration of a worker of the coordinator. Each worker is a state machine of its own. The
/// driver hands all requests of a client to one worker, and replies to the worker that numbered
/// their requests ([`super::Coordinator::worker_of`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoordinatorConfig {
    /// The layout of servers and switches.
    pub layout: Layout,
    /// Which worker this is, from 0.
    pub worker: u32,
    /// Number of workers (at least 1).
    pub workers: u32,
    /// First number of its own requests; see [`crate::first_request`].
    pub first_request: u32,
    /// Retries towards servers; the first wait adapts to the response times.
    pub retry: Backoff,
    /// Time after the last copy of a client's request at which the request ends with the answers so
    /// far.
    pub deadline: Nanos,
    /// Most requests of clients under way; more are answered with "overloaded".
    pub max_requests: usize,
}

impl CoordinatorConfig {
    /// The only worker, with the usual settings.
    pub const fn new(layout: Layout) -> Self {
        Self {
            layout,
            worker: 0,
            workers: 1,
            first_request: 1,
            retry: Backoff { initial: 20 * MILLISECOND, cap: 200 * MILLISECOND },
            deadline: 1000 * MILLISECOND,
            max_requests: 4096,
        }
    }

    /// The configuration for the options of a coordinator.
    pub(super) fn of(options: &CoordinatorOptions) -> Self {
        Self {
            worker: options.worker,
            workers: options.workers,
            first_request: options.first_request,
            retry: options.retry,
            deadline: options.deadline,
            max_requests: options.max_requests,
            ..Self::new(Layout::of(options.keyspace))
        }
    }

    /// How many request numbers this worker has: those that are its index modulo the number of
    /// workers.
    pub(super) const fn number_count(&self) -> u32 {
        u32::MAX / self.workers
    }

    /// Checks the values. An error is a sentence for users.
    pub(super) fn check(&self) -> Result<(), String> {
        self.layout.check()?;
        let Self { worker, workers, deadline, max_requests, .. } = *self;
        if worker >= workers || workers > MAX_WORKERS {
            return Err(format!(
                "worker {worker} of {workers} is not possible; there are 1 to {MAX_WORKERS}, and \
                 they count from 0"
            ));
        }
        if max_requests == 0 || max_requests > MAX_REQUESTS {
            return Err(format!(
                "{max_requests} requests under way are not possible; it is 1 to {MAX_REQUESTS}"
            ));
        }
        if deadline > MAX_DEADLINE {
            return Err(format!(
                "a deadline of {} s is too long; with more than {} s, a server could have \
                 forgotten the request that is sent again",
                deadline / SECOND,
                MAX_DEADLINE / SECOND
            ));
        }
        Ok(())
    }
}

counts! {
    /// Counts of a coordinator since it started.
    pub struct CoordinatorStats {
        /// Requests of clients accepted.
        requests,
        /// Keys of these requests.
        keys,
        /// Writes among them.
        writes,
        /// Requests sent to servers, retries not counted.
        groups,
        /// Requests sent to servers again.
        retries,
        /// Replies sent to clients.
        replies,
        /// Requests answered with "overloaded" because too many are under way.
        overloaded,
        /// Copies of requests that joined the one under way.
        joined,
        /// Requests that ended at their deadline, with part of the keys or none.
        expired,
        /// Requests that a server refused.
        refused,
        /// Answers of servers with the status "overloaded".
        busy_servers,
        /// Replies to requests that have ended: duplicates, and replies after the deadline.
        late_replies,
        /// Frames that are not valid multigets.
        malformed,
        /// Frames that a coordinator does not expect.
        unexpected,
        /// Most requests under way at a time.
        most_under_way,
    }
}
