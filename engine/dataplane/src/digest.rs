//! The queue of digests from the data plane to the control plane.

use std::collections::VecDeque;

use netkv_ir::Value;

/// Maximum number of queued digests. Further ones are dropped and counted.
pub const MAX_QUEUED_DIGESTS: usize = 16_384;

/// A digest with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestMessage {
    /// P4Info id of the digest.
    pub digest_id: u32,
    /// One value per member.
    pub values: Vec<Value>,
}

/// Digests that the control plane has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct DigestQueue {
    messages: VecDeque<DigestMessage>,
}

impl DigestQueue {
    /// Appends a message. The caller checks that the queue is not full.
    pub(crate) fn push(&mut self, message: DigestMessage) {
        debug_assert!(!self.is_full());
        self.messages.push_back(message);
    }

    /// True if the queue accepts no more digests.
    pub(crate) fn is_full(&self) -> bool {
        self.messages.len() >= MAX_QUEUED_DIGESTS
    }

    /// True if no digest is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Appends the messages of another queue, as far as there is room; returns the number of
    /// others.
    pub(crate) fn take_all(&mut self, other: &mut Self) -> usize {
        let room = MAX_QUEUED_DIGESTS - self.messages.len();
        let dropped = other.messages.len().saturating_sub(room);
        self.messages.extend(other.messages.drain(..).take(room));
        dropped
    }

    pub(crate) fn take(&mut self) -> Vec<DigestMessage> {
        self.messages.drain(..).collect()
    }
}
