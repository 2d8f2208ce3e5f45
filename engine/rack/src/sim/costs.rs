//! What frames cost the processor of a host.

use netkv_roles::Nanos;
use netkv_wire::KV_OFFSET;
use netkv_wire::multiget::{MULTIGET_PORT, Op};
use netkv_workload::{Distribution, Random};

use super::config::HostModel;

/// Times of a core.
#[derive(Debug, Clone)]
pub(super) struct Costs {
    receive: Distribution,
    send: Distribution,
    /// Nanoseconds.
    per_key: f64,
    per_byte: f64,
}

impl Costs {
    pub(super) fn new(model: &HostModel) -> Self {
        Self {
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
        let keys = multiget(frame).map_or(0, |(_, numkey)| numkey);
        (self.per_key * f64::from(keys) + self.per_byte * frame.len() as f64) as Nanos
    }
}

/// OP and NUMKEY of a multiget's frame.
#[inline]
fn multiget(frame: &[u8]) -> Option<(u8, u8)> {
    let port = frame.get(KV_OFFSET - 6..KV_OFFSET - 4)?;
    let header = frame.get(KV_OFFSET..KV_OFFSET + 7)?;
    (port == MULTIGET_PORT.to_be_bytes()).then_some((header[0], header[6]))
}

/// What a multiget's request asks of a server, and of how many keys.
#[inline]
pub(super) fn multiget_request(frame: &[u8]) -> Option<(Op, u8)> {
    let (op, keys) = multiget(frame)?;
    Some((Op::from_code(op)?, keys))
}
