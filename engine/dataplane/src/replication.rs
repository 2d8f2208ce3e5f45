//! The packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeMap;

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

/// A clone session as compiled code reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct CloneTarget {
    /// Port of its only clone.
    pub port: u64,
    /// Instance of that clone, which egress reads as `egress_rid`.
    pub instance: u64,
}

impl CloneTarget {
    /// The target of a session without a clone, with several, or with a limit of their length.
    pub const NONE: Self = Self { port: u64::MAX, instance: 0 };
}

/// Session numbers from which on compiled code leaves clones to the switch.
const MAX_TARGETS: u32 = 4_096;

/// Multicast groups and clone sessions by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replication {
    pub(crate) groups: BTreeMap<u32, Vec<Replica>>,
    pub(crate) sessions: BTreeMap<u32, CloneSession>,
}

impl Replication {
    /// The targets of session numbers from 0 on, for clones by ports of which `is_own` is true.
    pub(crate) fn clone_targets(&self, is_own: impl Fn(u16) -> bool) -> Vec<CloneTarget> {
        let mut targets = Vec::new();
        for (id, session) in self.sessions.range(..MAX_TARGETS) {
            targets.resize(*id as usize + 1, CloneTarget::NONE);
            if let [(port, instance)] = session.replicas[..]
                && session.packet_length_bytes == 0
                && is_own(port)
            {
                targets[*id as usize] =
                    CloneTarget { port: u64::from(port), instance: u64::from(instance) };
            }
        }
        targets
    }
}
