//! The frames of a case.

use std::ops::RangeInclusive;

use netkv_dataplane::Random;

/// Frames one after the other in one piece of memory, as they would lie in a ring of a port.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Frames {
    /// Appends a frame.
    pub fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    /// The frames in order.
    pub fn slices(&self) -> Vec<&[u8]> {
        let mut start = 0;
        let frame = |end: &usize| {
            let frame = &self.bytes[start..*end];
            start = *end;
            frame
        };
        self.ends.iter().map(frame).collect()
    }
}

/// Makes the frame before the `n`-th turn (from 1), and the port at which it comes in.
pub type Renew = fn(n: u32) -> (u16, Vec<u8>);

/// Frames, where they come in, and what must become of them.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Where they come in.
    pub port: u16,
    /// The frames that are timed, again and again in this order.
    pub frames: Frames,
    /// Where each of them leaves: exactly one frame for each.
    pub leave_at: RangeInclusive<u16>,
    /// Bytes of each frame that leaves.
    pub leave_bytes: usize,
    /// Frames of every other kind, on which all executors must agree too. Not timed.
    pub others: Frames,
    /// Makes a frame to send before each turn, so that counters that grow with every packet never
    /// make a packet take another path.
    pub renew: Option<Renew>,
}

impl Traffic {
    /// Traffic of these frames, with nothing beside.
    pub fn new(
        port: u16,
        frames: Frames,
        leave_at: RangeInclusive<u16>,
        leave_bytes: usize,
    ) -> Self {
        Self { port, frames, leave_at, leave_bytes, others: Frames::default(), renew: None }
    }
}

/// Keys to ask for, uniform over `entries`, the same every time: at least as many requests as
/// entries, so that most entries are touched and a table that leaves the caches is seen to.
pub(crate) fn uniform(entries: u32) -> impl Iterator<Item = u32> {
    let count = entries.next_power_of_two().clamp(4_096, 65_536);
    let mut random = Random::new(7);
    (0..count).map(move |_| random.between(0, u64::from(entries.max(1)) - 1) as u32)
}

/// The value of the key with this number: `bytes` of them, with no pattern.
pub(crate) fn value_of(number: u32, bytes: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(number) << 1 | 1);
    let words = (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_le_bytes());
    words.take(bytes as usize).collect()
}
