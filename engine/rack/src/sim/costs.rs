//! Processor time of a host for sending and receiving frames.

use std::sync::Arc;

use netkv_roles::{Frames, Nanos};
use netkv_workload::{Distribution, Random};

use super::config::HostModel;

/// Processor times of frames.
#[derive(Clone)]
pub(super) struct Costs {
    /// The frames of the rack's protocol.
    pub(super) frames: Arc<dyn Frames>,
    receive: Distribution,
    send: Distribution,
    per_key_ns: f64,
    per_byte_ns: f64,
}

impl Costs {
    pub(super) fn new(model: &HostModel, frames: Arc<dyn Frames>) -> Self {
        Self {
            frames,
            receive: model.receive.distribution(),
            send: model.send.distribution(),
            per_key_ns: model.per_key_s * 1e9,
            per_byte_ns: model.per_byte_s * 1e9,
        }
    }

    /// Whether all times are 0.
    pub(super) fn are_none(&self) -> bool {
        let fixed = self.receive.mean() == 0.0 && self.send.mean() == 0.0;
        fixed && self.per_key_ns == 0.0 && self.per_byte_ns == 0.0
    }

    /// Time to receive a frame.
    #[inline]
    pub(super) fn receive(&self, frame: &[u8], random: &mut Random) -> Nanos {
        self.receive.draw(random) + self.size(frame)
    }

    /// Time to send a frame.
    #[inline]
    pub(super) fn send(&self, frame: &[u8], random: &mut Random) -> Nanos {
        self.send.draw(random) + self.size(frame)
    }

    /// The part of the time to send a frame that does not depend on its size.
    #[inline]
    pub(super) fn send_any(&self, random: &mut Random) -> Nanos {
        self.send.draw(random)
    }

    /// The part of the time to send or receive a frame that depends on its keys and bytes.
    #[inline]
    pub(super) fn size(&self, frame: &[u8]) -> Nanos {
        if self.per_key_ns == 0.0 && self.per_byte_ns == 0.0 {
            return 0;
        }
        let keys = self.frames.keys(frame);
        (self.per_key_ns * f64::from(keys) + self.per_byte_ns * frame.len() as f64) as Nanos
    }
}
