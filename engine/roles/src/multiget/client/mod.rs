//! Load generator and client of multigets.

mod config;

use netkv_checker::{Summary, Violation};
use netkv_workload::{Arrivals, Workload};

use crate::{Actions, ClientStats, Completion, Nanos, Preserved, UserOp, VerifyReport};
pub use config::ClientConfig;

/// Many clients in one state machine.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    workload: Workload,
    stats: ClientStats,
}

#[allow(unused_variables)]
impl Client {
    /// A client that starts no operation until [`Client::start`].
    ///
    /// # Errors
    ///
    /// A sentence about a setting that cannot be.
    pub fn new(config: ClientConfig, workload: Workload) -> Result<Self, String> {
        config.check()?;
        Ok(Self { config, workload, stats: ClientStats::default() })
    }
    /// Starts or goes on with the load.
    pub fn start(&mut self, now: Nanos, out: &mut Actions) {}
    /// Starts no more operations; those under way end.
    pub fn pause(&mut self) {}
    /// Changes when operations start.
    pub fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions) {}
    /// Does what is due at `now`.
    pub fn poll(&mut self, now: Nanos, out: &mut Actions) {}
    /// When to call [`Client::poll`], if nothing happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        None
    }
    /// Takes one frame.
    pub fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {}
    /// Operations under way.
    pub fn outstanding(&self) -> usize {
        0
    }
    /// The workload.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }
    /// The workload, to shift popularity.
    pub fn workload_mut(&mut self) -> &mut Workload {
        &mut self.workload
    }
    /// What was counted since the last [`Client::take_stats`].
    pub fn stats(&self) -> &ClientStats {
        &self.stats
    }
    /// Moves what was counted since the last call into `into` (whose content is lost).
    pub fn take_stats(&mut self, into: &mut ClientStats) {}
    /// Records that only the switch has: none.
    pub fn preserved(&self) -> Preserved {
        Preserved::default()
    }
    /// The process dies, and another one begins in its place at once.
    pub fn forget_preserved(&mut self, now: Nanos, out: &mut Actions) {}
    /// Takes leave: starts no more operations.
    pub fn leave(&mut self, now: Nanos, out: &mut Actions) {}
    /// Whether nothing is left to be said after [`Client::leave`].
    pub fn is_gone(&self) -> bool {
        true
    }
    /// What the checker thinks of everything so far; `None` if reads are not judged.
    pub fn history(&self) -> Option<Summary> {
        None
    }
    /// The first violations of linearizability.
    pub fn violations(&self) -> Vec<Violation> {
        Vec::new()
    }
    /// Reads back every key that was written.
    pub fn verify(&mut self, now: Nanos, out: &mut Actions) {}
    /// What the verification found, once it is over.
    pub fn verified(&self) -> Option<VerifyReport> {
        None
    }
    /// The servers that had not answered when the last operation was given up, in order.
    pub fn last_missing(&self) -> &[u16] {
        &[]
    }
    /// Starts an operation of a user.
    ///
    /// # Errors
    ///
    /// A sentence about why it cannot be.
    pub fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String> {
        Err("not yet".to_owned())
    }
    /// Moves the users' operations that have ended to the end of `into`.
    pub fn completions(&mut self, into: &mut Vec<Completion>) {}
}
