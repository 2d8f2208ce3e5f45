//! One direction of a cable: bandwidth, delay, and a bounded queue at the sending end.

use netkv_roles::Nanos;
use serde::Deserialize;

/// Bytes of preamble, check sequence and inter-frame gap of an Ethernet frame.
const OVERHEAD: u64 = 24;
/// Bytes of the shortest frame, without its check sequence.
const SHORTEST: u64 = 60;
const PICOS: u64 = 1000;
/// The number of no link, for a node without a cable.
pub(super) const NO_LINK: u32 = u32::MAX;

/// Bytes that a frame takes on a line.
pub(super) fn bytes_on_line(frame: usize) -> u64 {
    (frame as u64).max(SHORTEST) + OVERHEAD
}

/// Model of each direction of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkModel {
    /// Bandwidth in bits a second.
    pub bandwidth_bps: f64,
    /// Propagation delay in seconds.
    pub delay_s: f64,
    /// Maximum number of bytes that wait at the sending end; further frames are dropped.
    pub queue_bytes: u64,
}

/// The delay of each direction, in nanoseconds.
pub(super) fn delay_of(model: &LinkModel) -> Nanos {
    (model.delay_s * 1e9).round() as Nanos
}

/// Counts of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames put on the cable.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames dropped because the queue was full.
    pub dropped: u64,
}

/// One direction of a cable.
#[derive(Debug, Clone)]
pub struct Link {
    picos_per_byte: u64,
    delay: Nanos,
    /// Longest wait in the queue, in picoseconds.
    limit: u64,
    /// When the last bit of the last frame is on the cable, in picoseconds.
    free_at: u64,
    /// Counts since the start.
    pub counts: LinkCounts,
}

impl Link {
    /// An idle link.
    pub fn new(model: &LinkModel) -> Self {
        let picos_per_byte = (8e12 / model.bandwidth_bps).round() as u64;
        Self {
            picos_per_byte,
            delay: delay_of(model),
            limit: picos_per_byte.saturating_mul(model.queue_bytes),
            free_at: 0,
            counts: LinkCounts::default(),
        }
    }

    /// The same link for frames whose bits were counted by their sender: only the delay is left.
    pub fn without_bandwidth(self) -> Self {
        Self { picos_per_byte: 0, ..self }
    }

    /// Puts a frame of `bytes` on the cable at `now`. Returns when its last bit arrives, or `None`
    /// if the queue is full.
    pub fn send(&mut self, now: Nanos, bytes: usize) -> Option<Nanos> {
        let now = now * PICOS;
        let start = self.free_at.max(now);
        if start - now > self.limit {
            self.counts.dropped += 1;
            return None;
        }
        self.counts.frames += 1;
        self.counts.bytes += bytes as u64;
        self.free_at = start + bytes_on_line(bytes) * self.picos_per_byte;
        Some(self.free_at.div_ceil(PICOS) + self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_in_order_at_the_bandwidth_of_the_cable() {
        let model = LinkModel { bandwidth_bps: 10e9, delay_s: 1e-6, queue_bytes: 1000 };
        let mut link = Link::new(&model);
        // 976 + 24 bytes are 800 ns at 10 Gbit/s.
        assert_eq!(link.send(0, 976), Some(1800));
        assert_eq!(link.send(0, 976), Some(2600), "it waits for the first");
        assert_eq!(link.send(10_000, 10), Some(10_000 + 68 + 1000), "84 bytes at least");
        assert_eq!(link.counts.frames, 3);
    }

    #[test]
    fn a_full_queue_drops_frames() {
        let model = LinkModel { bandwidth_bps: 8e9, delay_s: 0.0, queue_bytes: 2500 };
        let mut link = Link::new(&model);
        let sent = (0..10).filter(|_| link.send(0, 976).is_some()).count();
        assert_eq!(sent, 3, "one on the cable and two in the queue; a third would wait too long");
        assert_eq!(link.counts.dropped, 7);
        assert!(link.send(2000, 976).is_some(), "two have left by then");
    }
}
