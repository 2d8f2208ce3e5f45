//! Frames that leave the switch.

/// A reusable list of frames in one piece of memory.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// All of it is initialised; frames take the first `used` bytes.
    bytes: Vec<u8>,
    used: usize,
    /// Port, and where the frame ends; it starts where the one before ends.
    frames: Vec<(u16, usize)>,
    /// Frames that went through the pipelines more than once: which, and how often more.
    again: Vec<(usize, u32)>,
}

impl Output {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all frames, keeps the storage.
    pub fn clear(&mut self) {
        self.used = 0;
        self.frames.clear();
        self.again.clear();
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

    /// The frames as [`Output::frames`], each as where it starts and ends in [`Output::bytes`]: a
    /// driver can send them from there.
    pub fn ranges(&self) -> impl Iterator<Item = (u16, (usize, usize))> {
        let mut start = 0;
        self.frames
            .iter()
            .map(move |&(port, end)| (port, (std::mem::replace(&mut start, end), end)))
    }

    /// Frames that were recirculated or resubmitted: their places, and how often.
    pub fn again(&self) -> &[(usize, u32)] {
        &self.again
    }

    /// The last frame went through the pipelines so many times more than once.
    pub(crate) fn note_passes(&mut self, passes: u32) {
        if passes > 0 {
            self.again.push((self.frames.len() - 1, passes));
        }
    }

    /// All frames in one piece.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Appends a frame.
    pub fn push(&mut self, port: u16, frame: &[u8]) {
        self.room(frame.len())[..frame.len()].copy_from_slice(frame);
        self.commit(port, frame.len());
    }

    /// Room for a frame of up to `length` bytes, to be written in place; what is there is not
    /// cleared. [`Output::commit`] makes it a frame.
    #[inline]
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.len() - self.used < length {
            // Doubles, so that the storage settles after a few batches.
            self.bytes.resize((self.used + length).max(2 * self.bytes.len()), 0);
        }
        &mut self.bytes[self.used..]
    }

    /// Appends the first `length` bytes of the room as a frame.
    #[inline]
    pub fn commit(&mut self, port: u16, length: usize) {
        self.used += length;
        debug_assert!(self.used <= self.bytes.len());
        self.frames.push((port, self.used));
    }
}
