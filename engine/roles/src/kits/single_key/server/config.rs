//! Configuration of a server.

use crate::options::ServerOptions;
use crate::{Backoff, MILLISECOND, Nanos, SECOND};

/// Configuration of a server; `C` has the settings of its protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerConfig<C> {
    /// Which server this is, from 0.
    pub server: u16,
    /// Number of servers that share the keys.
    pub servers: u16,
    /// First number of the server's own requests; see [`crate::first_request`].
    pub first_request: u32,
    /// Reading, at the driver's time 0, of a clock that runs on while the server is down. Any clock
    /// may be used; 0 if the driver's time itself runs on.
    pub epoch: Nanos,
    /// Most writes that wait for one key; more are answered with "overloaded".
    pub max_waiting: usize,
    /// Requests of clients served in a second, if limited (server emulation).
    pub service_rate: Option<f64>,
    /// Most requests that wait for service; more are dropped.
    pub service_queue: usize,
    /// Retries of its own requests to switch and controller.
    pub retry: Backoff,
    /// How long after the start older frames may still arrive: longer than a frame stays in the
    /// network.
    pub guard: Nanos,
    /// Settings of the protocol.
    pub protocol: C,
}

impl<C: Default> ServerConfig<C> {
    /// Server `server` of `servers` with the usual settings and no rate limit.
    pub fn new(server: u16, servers: u16) -> Self {
        Self {
            server,
            servers,
            first_request: 1,
            epoch: 0,
            max_waiting: 256,
            service_rate: None,
            service_queue: 256,
            retry: Backoff { initial: 5 * MILLISECOND, cap: 200 * MILLISECOND },
            guard: 2 * SECOND,
            protocol: C::default(),
        }
    }

    /// The usual settings with the options of a role.
    pub fn of(options: &ServerOptions) -> Self {
        Self {
            first_request: options.first_request,
            epoch: options.epoch,
            service_rate: options.service_rate,
            service_queue: options.service_queue,
            ..Self::new(options.server, options.keyspace.servers)
        }
    }
}

impl<C> ServerConfig<C> {
    /// The second of its clock at `now`.
    pub(crate) const fn second(&self, now: Nanos) -> u32 {
        (self.epoch.saturating_add(now) / SECOND) as u32
    }
}
