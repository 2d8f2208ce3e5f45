//! Memory of the frames in flight, which is reused.

use netkv_wire::multiget::MTU;
use netkv_wire::{ETHERNET_LEN, MAX_FRAME};

/// Bytes of a small slot: enough for a frame with the longest value that a switch caches.
const SMALL: usize = 256;
/// Bytes of a large slot: the longest frame for one or several keys, and a header that a switch may
/// add.
const LARGE: usize = LONGEST + 64;
const LONGEST: usize = if MAX_FRAME > ETHERNET_LEN + MTU { MAX_FRAME } else { ETHERNET_LEN + MTU };
const LARGE_BIT: u32 = 1 << 31;

/// A frame in flight. The order has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(u32);

/// All frames in flight.
#[derive(Debug, Default)]
pub struct Frames {
    small: Slots<SMALL>,
    large: Slots<LARGE>,
}

#[derive(Debug)]
struct Slots<const SIZE: usize> {
    slots: Vec<[u8; SIZE]>,
    lengths: Vec<u16>,
    free: Vec<u32>,
}

impl<const SIZE: usize> Default for Slots<SIZE> {
    fn default() -> Self {
        Self { slots: Vec::new(), lengths: Vec::new(), free: Vec::new() }
    }
}

impl<const SIZE: usize> Slots<SIZE> {
    fn add(&mut self, bytes: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push([0; SIZE]);
            self.lengths.push(0);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize][..bytes.len()].copy_from_slice(bytes);
        self.lengths[slot as usize] = bytes.len() as u16;
        slot
    }

    fn copy(&mut self, slot: u32) -> u32 {
        let (bytes, length) = (self.slots[slot as usize], self.lengths[slot as usize]);
        self.add(&bytes[..usize::from(length)])
    }

    fn get(&self, slot: u32) -> &[u8] {
        &self.slots[slot as usize][..usize::from(self.lengths[slot as usize])]
    }
}

impl Frames {
    /// Stores a copy of a frame; `None` if it is longer than all frames of netkv.
    pub fn add(&mut self, bytes: &[u8]) -> Option<FrameId> {
        if bytes.len() <= SMALL {
            Some(FrameId(self.small.add(bytes)))
        } else if bytes.len() <= LARGE {
            Some(FrameId(self.large.add(bytes) | LARGE_BIT))
        } else {
            None
        }
    }

    /// Another frame with the same bytes.
    pub fn copy(&mut self, frame: FrameId) -> FrameId {
        if frame.0 & LARGE_BIT == 0 {
            FrameId(self.small.copy(frame.0))
        } else {
            FrameId(self.large.copy(frame.0 & !LARGE_BIT) | LARGE_BIT)
        }
    }

    /// Its bytes.
    pub fn get(&self, frame: FrameId) -> &[u8] {
        if frame.0 & LARGE_BIT == 0 {
            self.small.get(frame.0)
        } else {
            self.large.get(frame.0 & !LARGE_BIT)
        }
    }

    /// Prefetches a frame into the processor's caches.
    pub fn prefetch(&self, frame: FrameId) {
        if frame.0 & LARGE_BIT == 0 {
            crate::sys::prefetch(&self.small.slots[frame.0 as usize]);
        }
    }

    /// Its number of bytes.
    pub fn len(&self, frame: FrameId) -> usize {
        self.get(frame).len()
    }

    /// Frees the slot of a frame.
    pub fn free(&mut self, frame: FrameId) {
        if frame.0 & LARGE_BIT == 0 {
            self.small.free.push(frame.0);
        } else {
            self.large.free.push(frame.0 & !LARGE_BIT);
        }
    }

    /// Number of frames in flight.
    pub fn count(&self) -> usize {
        self.small.slots.len() + self.large.slots.len()
            - self.small.free.len()
            - self.large.free.len()
    }
}
