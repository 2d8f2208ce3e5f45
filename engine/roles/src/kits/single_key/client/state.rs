//! The state of the clients of a process.

use netkv_workload::Workload;

use super::protocol::Protocol;
use super::request::Request;
use super::users::Users;
use crate::common::load::{Judge, Load, Senders, Verification};
use crate::common::timers::{Timeouts, Timers};
use crate::{ClientConfig, ClientStats};

/// Many clients in one state machine. The comment of the parent module has its rules.
#[derive(Debug)]
pub struct Client<P: Protocol> {
    pub(super) config: ClientConfig,
    pub(super) workload: Workload,
    pub(super) load: Load,
    /// `senders` has the index of each.
    pub(super) requests: Vec<Option<Request>>,
    pub(super) free: Vec<u32>,
    pub(super) outstanding: usize,
    pub(super) senders: Senders,
    pub(super) timers: Timers<(u16, u32)>,
    pub(super) timeouts: Timeouts,
    pub(crate) protocol: P,
    pub(super) judge: Judge,
    pub(super) verification: Option<Verification>,
    pub(super) users: Users,
    pub(super) stats: ClientStats,
    pub(super) value: Vec<u8>,
}
