//! Configuration of a server.

use crate::kits::multiget::layout::Layout;
use crate::{Nanos, SECOND};

/// Configuration of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerConfig {
    /// Which server this is, from 0.
    pub server: u16,
    /// The layout of servers and switches.
    pub layout: Layout,
    /// Reading, at the driver's time 0, of a clock that runs on while the server is down. Any clock
    /// may be used; 0 if the driver's time itself runs on.
    pub epoch: Nanos,
    /// Most writes that wait for one key; more are answered with "overloaded".
    pub max_waiting: usize,
    /// Most reads of keys that the store has not answered; requests beyond are answered with
    /// "overloaded".
    pub max_reading: usize,
    /// Requests served in a second, if limited (server emulation).
    pub service_rate: Option<f64>,
    /// Most requests that wait for service; more are dropped.
    pub service_queue: usize,
}

impl ServerConfig {
    /// Server `server` with the usual settings and no rate limit.
    pub const fn new(server: u16, layout: Layout) -> Self {
        Self {
            server,
            layout,
            epoch: 0,
            max_waiting: 256,
            max_reading: 16_384,
            service_rate: None,
            service_queue: 256,
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    ///
    /// A sentence about a wrong value.
    pub fn check(&self) -> Result<(), String> {
        self.layout.check()?;
        if self.server < self.layout.servers {
            return Ok(());
        }
        let Self { server, layout: Layout { servers, .. }, .. } = *self;
        Err(format!("server {server} does not exist; with {servers} servers they count from 0"))
    }

    /// The second of its clock at `now`.
    pub(super) const fn second(&self, now: Nanos) -> u32 {
        (self.epoch.saturating_add(now) / SECOND) as u32
    }
}
