//! A few of the frames that arrive at a switch, for users who want to see some.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lock::lock;

/// Frames of a batch that are kept at most: a batch is of one port, and the next one may be of
/// another.
const OF_A_BATCH: usize = 4;

/// The frames that arrived at the ports of a pipeline, with the numbers of the ports.
pub type Captured = Vec<(u16, Vec<u8>)>;

/// Captures the next frames of a pipeline. Without an order, it costs one load for each batch.
#[derive(Default)]
pub struct Capture {
    /// Frames that are still to be kept.
    wanted: AtomicUsize,
    captured: Mutex<Captured>,
}

impl Capture {
    /// Captures the next frames, up to a number; frames that were kept before are forgotten.
    pub fn begin(&self, limit: usize) {
        let mut captured = lock(&self.captured);
        captured.clear();
        self.wanted.store(limit, Ordering::Relaxed);
    }

    /// Ends it: the frames so far.
    pub fn end(&self) -> Captured {
        let mut captured = lock(&self.captured);
        self.wanted.store(0, Ordering::Relaxed);
        std::mem::take(&mut captured)
    }

    /// Number of frames so far.
    pub fn count(&self) -> usize {
        lock(&self.captured).len()
    }

    /// Whether frames are wanted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    /// Keeps frames of a batch.
    #[cold]
    pub fn batch<'a>(&self, port: u16, frames: impl Iterator<Item = &'a [u8]>) {
        let mut captured = lock(&self.captured);
        let wanted = self.wanted.load(Ordering::Relaxed);
        let before = captured.len();
        captured.extend(frames.take(wanted.min(OF_A_BATCH)).map(|frame| (port, frame.to_vec())));
        self.wanted.store(wanted - (captured.len() - before), Ordering::Relaxed);
    }
}
