//! The state of the clients of a process.

use netkv_workload::Workload;
use rustc_hash::FxHashMap;

use super::config::ClientConfig;
use super::operation::Operation;
use super::users::Users;
use crate::ClientStats;
use crate::common::load::{Judge, Load, Senders, Verification};
use crate::common::slots::Slots;
use crate::common::stats::counts;
use crate::common::timers::{Timeouts, Timers};

counts! {
    /// Counts of clients of multigets only.
    pub struct MultigetCounts {
        /// Keys of answered reads; a repeated key counts each time.
        keys_read,
        /// Requests to servers for the operations started: one for each key group, whether a client
        /// or a switch splits it. If a coordinator splits, the requests to the coordinator.
        groups,
        /// Servers that had not answered when an operation was given up.
        missing_groups,
    }
}

/// Many clients in one state machine. The comment of the parent module has its rules.
#[derive(Debug)]
pub struct Client {
    pub(super) config: ClientConfig,
    pub(super) workload: Workload,
    pub(super) load: Load,
    pub(super) operations: Slots<Operation>,
    pub(super) spare: Vec<Operation>,
    /// The operation of a request, and the index of the request in it.
    pub(super) by_number: FxHashMap<(u16, u32), (u32, usize)>,
    pub(super) senders: Senders,
    pub(super) timers: Timers<u32>,
    pub(super) timeouts: Timeouts,
    pub(super) judge: Judge,
    pub(super) verification: Option<Verification>,
    pub(super) stats: ClientStats,
    pub(super) counts: MultigetCounts,
    pub(super) last_missing: Vec<u16>,
    pub(super) users: Users,
    /// Buffers that are reused.
    pub(super) ids: Vec<u64>,
    pub(super) value: Vec<u8>,
}
