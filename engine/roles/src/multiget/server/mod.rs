//! Storage server shim of multigets.

mod config;

use crate::{Actions, Applied, CallId, Nanos, ServerStats, StoreResult};
pub use config::ServerConfig;

/// One storage server.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    stats: ServerStats,
}

#[allow(unused_variables)]
impl Server {
    /// A server that starts at `now` over a store that has applied no requests.
    pub fn new(config: ServerConfig, now: Nanos) -> Self {
        Self::restore(config, now, &Applied::default())
    }
    /// A server that starts at `now` over a store that remembers what it has `applied`.
    pub fn restore(config: ServerConfig, now: Nanos, applied: &Applied) -> Self {
        Self { config, stats: ServerStats::default() }
    }
    /// What this server is.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }
    /// Counts since the start.
    pub fn stats(&self) -> &ServerStats {
        &self.stats
    }
    /// Serves `factor` times slower than its service rate says; false without a rate.
    pub fn slow(&mut self, factor: f64) -> bool {
        false
    }
    /// Takes one frame.
    pub fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {}
    /// The store has finished `call`.
    pub fn on_stored(
        &mut self,
        now: Nanos,
        call: CallId,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
    }
    /// When to call [`Server::on_timer`], if nothing happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        None
    }
    /// Does what is due at `now`.
    pub fn on_timer(&mut self, now: Nanos, out: &mut Actions) {}
}
