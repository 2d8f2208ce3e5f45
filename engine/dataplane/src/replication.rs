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

/// Multicast groups and clone sessions by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replication {
    pub(crate) groups: BTreeMap<u32, Vec<Replica>>,
    pub(crate) sessions: BTreeMap<u32, CloneSession>,
}
