//! Digests on their way to the control plane.

use std::collections::VecDeque;

use netkv_ir::Value;

/// Digests that wait at most; later ones are dropped and counted.
pub const DIGEST_QUEUE: usize = 16_384;

/// One digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestMessage {
    /// P4Info id of the digest.
    pub digest_id: u32,
    /// One value per member.
    pub values: Vec<Value>,
}

/// The queue between data plane and control plane.
#[derive(Debug, Default)]
pub(crate) struct DigestQueue {
    messages: VecDeque<DigestMessage>,
}

impl DigestQueue {
    /// Appends a message; the caller has seen that there is room.
    pub(crate) fn push(&mut self, message: DigestMessage) {
        debug_assert!(!self.is_full());
        self.messages.push_back(message);
    }

    /// Whether there is no room.
    pub(crate) fn is_full(&self) -> bool {
        self.messages.len() >= DIGEST_QUEUE
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn take(&mut self) -> Vec<DigestMessage> {
        self.messages.drain(..).collect()
    }
}
