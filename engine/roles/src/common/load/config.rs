//! Configuration of a client process.

use netkv_workload::Arrivals;

use crate::{Backoff, MAX_DEADLINE, MILLISECOND, Nanos, SECOND, WINDOW};

/// Configuration of a client process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientConfig {
    /// Id of the first client that it emulates, from 1.
    pub first_client: u16,
    /// How many clients it emulates (at least 1).
    pub clients: u16,
    /// First request number of each; see [`crate::first_request`].
    pub first_request: u32,
    /// How far the newest request number of a client may be ahead of its oldest one under way. The
    /// server or switch that detects copies remembers that many requests.
    pub window: u32,
    /// When operations start.
    pub arrivals: Arrivals,
    /// Retries of requests.
    pub retry: Backoff,
    /// Time after which an operation is given up.
    pub deadline: Nanos,
    /// Most operations under way in open loop. Others wait; their latency includes the wait.
    pub max_outstanding: usize,
    /// Most operations that wait in open loop. Others are not started and count as unsent.
    pub max_waiting: usize,
    /// Whether reads are judged.
    pub check: bool,
    /// Whether reads may return replaced values for some time, from caches that writes may miss.
    pub may_be_stale: bool,
    /// Whether other processes write the same keys. Then reads that return their values, or
    /// none, are not judged.
    pub other_writers: bool,
}

impl ClientConfig {
    /// Clients 1 to `clients` with the usual settings.
    pub const fn new(clients: u16, arrivals: Arrivals) -> Self {
        Self {
            first_client: 1,
            clients,
            first_request: 1,
            window: WINDOW,
            arrivals,
            retry: Backoff { initial: 50 * MILLISECOND, cap: 500 * MILLISECOND },
            deadline: 5 * SECOND,
            max_outstanding: 8192,
            max_waiting: 65_536,
            check: true,
            may_be_stale: false,
            other_writers: false,
        }
    }

    /// Checks the values. An error is a sentence for users.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { first_client, clients, deadline, .. } = *self;
        let end = u32::from(first_client) + u32::from(clients);
        if first_client == 0 || clients == 0 || end > 0x8000 {
            return Err(format!(
                "{clients} clients from number {first_client} on are not possible; client numbers \
                 are 1 to 32767"
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

    /// Checks the window. `memory` names what detects copies, and remembers `most` requests of a
    /// client. An error is a sentence for users.
    pub(crate) fn check_window(&self, most: u32, memory: &str) -> Result<(), String> {
        match self.window {
            window if window < 2 || window > most => Err(format!(
                "a window of {window} requests is not possible; it is 2 to {most}, the requests \
                 of a client that {memory} remembers"
            )),
            _ => Ok(()),
        }
    }
}
