//! The packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeMap;

use crate::packet::{MAX_PASSES, MAX_PASSES_PER_FRAME};

/// A copy: its egress port, and its instance, which egress reads as `egress_rid`.
pub type Replica = (u16, u16);

/// A clone session.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct CloneSession {
    /// The clones to make.
    pub replicas: Vec<Replica>,
    /// Value that the control plane reads back. It has no effect, because there is one queue.
    pub class_of_service: u32,
    /// Maximum length of a transmitted clone in bytes; 0: no limit.
    pub packet_length_bytes: u32,
}

/// A copy as compiled code reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct CopyTarget {
    /// Its egress port.
    pub port: u64,
    /// Its instance, which egress reads as `egress_rid`.
    pub instance: u64,
}

impl CopyTarget {
    /// The target of a session without a clone, with several, or with a limit of their length.
    pub const NONE: Self = Self { port: u64::MAX, instance: 0 };
}

/// Session and group numbers from which on compiled code leaves copies to the switch.
const MAX_TARGETS: u32 = 4_096;

/// Maximum number of copies of a multicast group that compiled code makes.
const MAX_COPIES: usize = 30;

// Compiled code counts no work: a packet whose every pass is multicast, and whose every copy is
// dropped with a clone, stays below the limit.
const _: () = assert!((1 + 2 * MAX_COPIES as u32) * (MAX_PASSES + 1) < MAX_PASSES_PER_FRAME);

/// Multicast groups and clone sessions by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replication {
    pub(crate) groups: BTreeMap<u32, Vec<Replica>>,
    pub(crate) sessions: BTreeMap<u32, CloneSession>,
}

impl From<Replica> for CopyTarget {
    fn from((port, instance): Replica) -> Self {
        Self { port: u64::from(port), instance: u64::from(instance) }
    }
}

impl Replication {
    /// The targets of session numbers from 0 on, for clones by ports of which `is_own` is true.
    pub(crate) fn clone_targets(&self, is_own: impl Fn(u16) -> bool) -> Vec<CopyTarget> {
        let mut targets = Vec::new();
        for (id, session) in self.sessions.range(..MAX_TARGETS) {
            targets.resize(*id as usize + 1, CopyTarget::NONE);
            if let [replica] = session.replicas[..]
                && session.packet_length_bytes == 0
                && is_own(replica.0)
            {
                targets[*id as usize] = replica.into();
            }
        }
        targets
    }

    /// The copies of group numbers from 0 on, if they are few and have only ports of which `is_own`
    /// is true. Other groups have none here.
    pub(crate) fn group_targets(&self, is_own: impl Fn(u16) -> bool) -> Vec<Vec<CopyTarget>> {
        let mut targets = Vec::new();
        for (id, replicas) in self.groups.range(..MAX_TARGETS) {
            targets.resize(*id as usize + 1, Vec::new());
            if replicas.len() <= MAX_COPIES && replicas.iter().all(|(port, _)| is_own(*port)) {
                targets[*id as usize] = replicas.iter().map(|replica| (*replica).into()).collect();
            }
        }
        targets
    }
}
