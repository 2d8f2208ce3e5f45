//! Frames that leave the switch.

/// A reusable list of frames in contiguous memory.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Memory of which frames occupy the first `used` bytes. All of it is initialized.
    bytes: Vec<u8>,
    used: usize,
    /// Port and end of each frame. A frame starts at the end of the previous one.
    frames: Vec<(u16, usize)>,
    /// Index of each recirculated or resubmitted frame, and its number of additional passes.
    again: Vec<(usize, u32)>,
}

impl Output {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all frames and keeps the allocation.
    pub fn clear(&mut self) {
        self.used = 0;
        self.frames.clear();
        self.again.clear();
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// True if there are no frames.
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

    /// Port of each frame, and its start and end in [`Output::bytes`]. A driver can send the frames
    /// from there without a copy.
    pub fn ranges(&self) -> impl Iterator<Item = (u16, (usize, usize))> {
        let mut start = 0;
        self.frames
            .iter()
            .map(move |&(port, end)| (port, (std::mem::replace(&mut start, end), end)))
    }

    /// Index of each recirculated or resubmitted frame, and its number of additional passes.
    pub fn again(&self) -> &[(usize, u32)] {
        &self.again
    }

    /// Sets the number of additional passes of the last frame.
    #[inline]
    pub fn note_passes(&mut self, passes: u32) {
        if passes > 0 {
            self.again.push((self.frames.len() - 1, passes));
        }
    }

    /// The bytes of all frames.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Appends a frame.
    pub fn push(&mut self, port: u16, frame: &[u8]) {
        self.room(frame.len())[..frame.len()].copy_from_slice(frame);
        self.commit(port, frame.len());
    }

    /// Memory for a frame of up to `length` bytes. It may contain old bytes. After writing to it,
    /// the caller appends the frame with [`Output::commit`].
    #[inline]
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.len() - self.used < length {
            // Doubling bounds the number of reallocations.
            self.bytes.resize((self.used + length).max(2 * self.bytes.len()), 0);
        }
        &mut self.bytes[self.used..]
    }

    /// Whether a frame of `length` bytes can be appended, and another one of up to `next` bytes be
    /// written after it, without new memory.
    #[inline]
    pub fn has_room(&self, length: usize, next: usize) -> bool {
        self.frames.len() < self.frames.capacity()
            && self.again.len() < self.again.capacity()
            && self.bytes.len() - self.used >= length + next
    }

    /// Appends the first `length` bytes of the memory from [`Output::room`] as a frame.
    #[inline]
    pub fn commit(&mut self, port: u16, length: usize) {
        self.used += length;
        debug_assert!(self.used <= self.bytes.len());
        self.frames.push((port, self.used));
    }
}
