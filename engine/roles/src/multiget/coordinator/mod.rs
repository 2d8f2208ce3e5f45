//! The coordinator of CoordiMC.

mod config;

use crate::{Actions, Nanos};
pub use config::{CoordinatorConfig, CoordinatorStats};

/// A worker of the coordinator.
#[derive(Debug)]
pub struct Coordinator {
    config: CoordinatorConfig,
    stats: CoordinatorStats,
}

#[allow(unused_variables)]
impl Coordinator {
    /// A coordinator with nothing under way.
    ///
    /// # Errors
    ///
    /// A sentence about a setting that cannot be.
    pub fn new(config: CoordinatorConfig) -> Result<Self, String> {
        config.layout.check()?;
        Ok(Self { config, stats: CoordinatorStats::default() })
    }
    /// Which of `workers` workers takes this frame: requests go by client, replies by number.
    pub fn worker_of(frame: &[u8], workers: u32) -> u32 {
        0
    }
    /// What this coordinator is.
    pub fn config(&self) -> &CoordinatorConfig {
        &self.config
    }
    /// Counts since the start.
    pub fn stats(&self) -> &CoordinatorStats {
        &self.stats
    }
    /// Requests of clients under way.
    pub fn under_way(&self) -> usize {
        0
    }
    /// Takes one frame.
    pub fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {}
    /// When to call [`Coordinator::on_timer`], if nothing happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        None
    }
    /// Does what is due at `now`.
    pub fn on_timer(&mut self, now: Nanos, out: &mut Actions) {}
}
