//! What frames cost the processor of a host.

use std::sync::Arc;

use netkv_roles::{Frames, Nanos};
use netkv_workload::{Distribution, Random};

use super::config::HostModel;

/// Times of a core.
#[derive(Clone)]
pub(super) struct Costs {
    /// Those of the rack's protocol.
    pub(super) frames: Arc<dyn Frames>,
    receive: Distribution,
    send: Distribution,
    /// Nanoseconds.
    per_key: f64,
    per_byte: f64,
}

impl Costs {
    pub(super) fn new(model: &HostModel, frames: Arc<dyn Frames>) -> Self {
        Self {
            frames,
            receive: model.receive.distribution(),
            send: model.send.distribution(),
            per_key: model.per_key_s * 1e9,
            per_byte: model.per_byte_s * 1e9,
        }
    }

    /// Whether frames cost no time at all.
    pub(super) fn are_none(&self) -> bool {
        let fixed = self.receive.mean() == 0.0 && self.send.mean() == 0.0;
        fixed && self.per_key == 0.0 && self.per_byte == 0.0
    }

    /// Of taking a frame in.
    #[inline]
    pub(super) fn receive(&self, frame: &[u8], random: &mut Random) -> Nanos {
        self.receive.draw(random) + self.size(frame)
    }

    /// Of sending a frame.
    #[inline]
    pub(super) fn send(&self, frame: &[u8], random: &mut Random) -> Nanos {
        self.send.draw(random) + self.size(frame)
    }

    /// Of sending a frame, but for what its size takes.
    #[inline]
    pub(super) fn send_any(&self, random: &mut Random) -> Nanos {
        self.send.draw(random)
    }

    /// What a frame costs for its keys and bytes, in or out.
    #[inline]
    pub(super) fn size(&self, frame: &[u8]) -> Nanos {
        if self.per_key == 0.0 && self.per_byte == 0.0 {
            return 0;
        }
        let keys = self.frames.keys(frame);
        (self.per_key * f64::from(keys) + self.per_byte * frame.len() as f64) as Nanos
    }
}
