//! Frames that leave the switch.

/// A reusable list of frames in one piece of memory.
#[derive(Debug, Clone, Default)]
pub struct Output {
    bytes: Vec<u8>,
    /// Port, and where the frame ends; it starts where the one before ends.
    frames: Vec<(u16, usize)>,
}

impl Output {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all frames, keeps the storage.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frames in the order in which they left, each with its port.
    pub fn frames(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let mut start = 0;
        self.frames.iter().map(move |(port, end)| {
            let frame = &self.bytes[start..*end];
            start = *end;
            (*port, frame)
        })
    }

    /// Appends a frame.
    pub fn push(&mut self, port: u16, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.frames.push((port, self.bytes.len()));
    }
}
