//! The frames of a case.

use std::ops::RangeInclusive;

use netkv_dataplane::Random;

/// Number of frames of a batch.
pub const BATCH: usize = 32;

/// Frames in contiguous memory, as in the receive ring of a port.
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

/// Frames that arrive together by one port.
#[derive(Debug, Clone)]
pub struct Arrivals {
    /// Their input port.
    pub port: u16,
    /// The frames, at most as many as a batch has.
    pub frames: Frames,
}

/// Batches of these frames, which arrive by one port.
pub(crate) fn arrivals(port: u16, frames: &[Vec<u8>]) -> Vec<Arrivals> {
    let batch = |batch: &[Vec<u8>]| {
        let mut frames = Frames::default();
        batch.iter().for_each(|frame| frames.push(frame));
        Arrivals { port, frames }
    };
    frames.chunks(BATCH).map(batch).collect()
}

/// Makes the frame to send before the `n`-th round (from 1), and its input port.
pub type NewFrame = fn(n: u32) -> (u16, Vec<u8>);

/// The frames of a path, their input port, and the expected output.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Input port of the frames.
    pub port: u16,
    /// The frames that are timed, repeatedly and in this order.
    pub frames: Frames,
    /// Number of frames that leave for each frame.
    pub outputs: usize,
    /// Their output ports.
    pub output_ports: RangeInclusive<u16>,
    /// Bytes of each sent frame.
    pub output_bytes: usize,
    /// Makes a frame to send before each round. It resets counters that grow with every packet, so
    /// that no packet takes another path.
    pub new_frame: Option<NewFrame>,
}

impl Traffic {
    /// Traffic with these frames only.
    pub fn new(
        port: u16,
        frames: Frames,
        output_ports: RangeInclusive<u16>,
        output_bytes: usize,
    ) -> Self {
        Self { port, frames, outputs: 1, output_ports, output_bytes, new_frame: None }
    }
}

/// Keys of requests, uniform over `entries`, the same for every call. There are at least as many
/// requests as entries, so that most entries are used and the misses of a large table count.
pub(crate) fn uniform(entries: u32) -> impl Iterator<Item = u32> {
    let count = entries.next_power_of_two().clamp(4_096, 65_536);
    let mut random = Random::new(7);
    (0..count).map(move |_| random.between(0, u64::from(entries.max(1)) - 1) as u32)
}

/// The value of the key with this number: `bytes` random bytes.
pub(crate) fn value_of(number: u32, bytes: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(number) << 1 | 1);
    let words = (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_le_bytes());
    words.take(bytes as usize).collect()
}
