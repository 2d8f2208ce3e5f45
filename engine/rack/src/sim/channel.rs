//! The control channel between a switch and its controller, one direction of it.

use netkv_roles::Nanos;
use serde::Deserialize;

/// What control channels are like.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelModel {
    /// From one end to the other, in seconds.
    pub latency_s: f64,
    /// Messages a second in each direction; more wait.
    pub rate: f64,
}

/// One direction.
#[derive(Debug, Clone)]
pub struct Channel {
    latency: Nanos,
    gap: Nanos,
    free_at: Nanos,
}

impl Channel {
    /// An idle channel.
    pub fn new(model: &ChannelModel) -> Self {
        Self {
            latency: (model.latency_s * 1e9).round() as Nanos,
            gap: (1e9 / model.rate).round() as Nanos,
            free_at: 0,
        }
    }

    /// A message is sent at `now`: when it arrives.
    pub fn send(&mut self, now: Nanos) -> Nanos {
        self.send_share(now, 1)
    }

    /// One of `parts` things that share a message is sent at `now`: when it arrives.
    pub fn send_share(&mut self, now: Nanos, parts: u64) -> Nanos {
        self.free_at = self.free_at.max(now) + self.gap / parts;
        self.free_at + self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_queue_for_the_channel_and_lists_share_one() {
        let mut channel = Channel::new(&ChannelModel { latency_s: 50e-6, rate: 10_000.0 });
        assert_eq!(channel.send(0), 150_000);
        assert_eq!(channel.send(0), 250_000, "behind the first");
        assert_eq!(channel.send_share(1_000_000, 50), 1_052_000);
    }
}
