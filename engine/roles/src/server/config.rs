//! What a server is told.

use crate::{Backoff, MILLISECOND, Nanos, SECOND};

/// How a server takes part in caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// There is no cache (NoCache).
    Plain,
    /// NetCache: write-through cache in the switch.
    NetCache,
    /// FarReach: write-back cache in the switch.
    FarReach,
}

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerConfig {
    /// Which server this is, from 0.
    pub server: u16,
    /// Number of servers that share the keys.
    pub servers: u16,
    /// How it takes part in caching.
    pub scheme: Scheme,
    /// First request number of its own; see [`crate::first_request`].
    pub first_request: u32,
    /// What a clock that goes on while the server is down showed at the driver's time 0. Any clock
    /// will do; 0 if the driver's time goes on itself.
    pub epoch: Nanos,
    /// Retries of INVALIDATE, UPDATE, OUTGROWN and OFFER.
    pub retry: Backoff,
    /// How long ADMIT holds writes if no INSTALL comes.
    pub lease: Nanos,
    /// How long after the start unmarked writes that arrive are slow, and a HORIZON may be a copy
    /// of an earlier one; longer than a frame can be under way.
    pub guard: Nanos,
    /// Most writes that wait for one key; more are answered with "overloaded".
    pub max_waiting: usize,
    /// Requests of clients served in a second, if limited (server emulation).
    pub service_rate: Option<f64>,
    /// Most requests that wait for service; more are dropped.
    pub service_queue: usize,
}

impl ServerConfig {
    /// Server `server` of `servers` with the usual settings and no rate limit.
    pub const fn new(server: u16, servers: u16, scheme: Scheme) -> Self {
        Self {
            server,
            servers,
            scheme,
            first_request: 1,
            epoch: 0,
            retry: Backoff { initial: 5 * MILLISECOND, cap: 200 * MILLISECOND },
            lease: SECOND,
            guard: 2 * SECOND,
            max_waiting: 256,
            service_rate: None,
            service_queue: 256,
        }
    }

    /// The second of its clock at `now`.
    pub(super) const fn second(&self, now: Nanos) -> u32 {
        (self.epoch.saturating_add(now) / SECOND) as u32
    }
}
