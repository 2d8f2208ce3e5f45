//! The packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeMap;

/// One copy: egress port, and the instance that egress sees as `egress_rid`.
pub type Replica = (u16, u16);

/// Where clones of a session go.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct CloneSession {
    /// One clone each.
    pub replicas: Vec<Replica>,
    /// Kept for the control plane; there is one queue.
    pub class_of_service: u32,
    /// Bytes that a clone has at most when it leaves; 0 for the whole packet.
    pub packet_length_bytes: u32,
}

/// Groups and sessions by id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replication {
    pub(crate) groups: BTreeMap<u32, Vec<Replica>>,
    pub(crate) sessions: BTreeMap<u32, CloneSession>,
}
