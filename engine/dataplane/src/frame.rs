//! Received frames.

/// A received frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Port that received it.
    pub port: u16,
    /// Time on the caller's clock, in nanoseconds.
    pub now_ns: u64,
}

/// Frames that one port received together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The bytes of each frame.
    pub frames: &'a [&'a [u8]],
    /// Port that received them.
    pub port: u16,
    /// Time on the caller's clock, in nanoseconds.
    pub now_ns: u64,
}

impl<'a> Batch<'a> {
    /// One of the frames.
    #[inline]
    pub fn frame(&self, index: usize) -> Frame<'a> {
        Frame { bytes: self.frames[index], port: self.port, now_ns: self.now_ns }
    }
}
