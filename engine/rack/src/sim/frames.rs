//! Memory of the frames in flight, which is reused.

use netkv_wire::multiget::{MAX_MTU, MTU};
use netkv_wire::{ETHERNET_LEN, MAX_FRAME};

/// Bytes of a slot for a frame without a value; with its length, 2 cache lines. Most frames that
/// wait at servers are requests.
const TINY: usize = 126;
/// Bytes of a slot for a frame with the longest value that a switch caches: 4 cache lines.
const SMALL: usize = 254;
/// Bytes of a slot for the longest frame for one or several keys, and a header that a switch may
/// add.
const LARGE: usize = LONGEST + 64;
const LONGEST: usize = if MAX_FRAME > ETHERNET_LEN + MTU { MAX_FRAME } else { ETHERNET_LEN + MTU };

/// Bytes of a slot for the longest frame of multigets with a larger MTU.
const JUMBO: usize = ETHERNET_LEN + MAX_MTU + 64;

/// A frame in flight: the size of its slot, and the number of the slot among those of its size. The
/// order has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(u32);

/// Bits of the number of a slot. The bits above are one of the constants below.
const PLACE_BITS: u32 = 30;
const IS_TINY: u32 = 0;
const IS_SMALL: u32 = 1;
const IS_LARGE: u32 = 2;
const IS_JUMBO: u32 = 3;

impl FrameId {
    fn new(size: u32, place: u32) -> Self {
        Self(size << PLACE_BITS | place)
    }

    /// The frame as a number, for [`FrameId::from_bits`].
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The frame with this number.
    #[inline(always)]
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    fn size(self) -> u32 {
        self.0 >> PLACE_BITS
    }

    fn place(self) -> u32 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }
}

/// All frames in flight.
#[derive(Debug, Default)]
pub struct Frames {
    tiny: Slots<TINY>,
    small: Slots<SMALL>,
    large: Slots<LARGE>,
    jumbo: Slots<JUMBO>,
}

#[derive(Debug)]
struct Slots<const SIZE: usize> {
    slots: Vec<Slot<SIZE>>,
    free: Vec<u32>,
}

#[derive(Debug)]
#[repr(align(64))]
struct Slot<const SIZE: usize> {
    length: u16,
    bytes: [u8; SIZE],
}

const _: () = assert!(size_of::<Slot<TINY>>() == 128);
const _: () = assert!(size_of::<Slot<SMALL>>() == 256);

impl<const SIZE: usize> Default for Slots<SIZE> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<const SIZE: usize> Slots<SIZE> {
    #[inline]
    fn add(&mut self, bytes: &[u8]) -> u32 {
        let place = self.take();
        let slot = &mut self.slots[place as usize];
        slot.bytes[..bytes.len()].copy_from_slice(bytes);
        slot.length = bytes.len() as u16;
        place
    }

    /// An unused slot.
    #[inline]
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { length: 0, bytes: [0; SIZE] });
            self.slots.len() as u32 - 1
        })
    }

    fn copy(&mut self, from: u32) -> u32 {
        let place = self.take();
        if let Ok([from, to]) = self.slots.get_disjoint_mut([from as usize, place as usize]) {
            (to.length, to.bytes) = (from.length, from.bytes);
        }
        place
    }

    fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    fn get(&self, place: u32) -> &[u8] {
        let slot = &self.slots[place as usize];
        &slot.bytes[..usize::from(slot.length)]
    }

    fn get_mut(&mut self, place: u32) -> &mut [u8] {
        let slot = &mut self.slots[place as usize];
        &mut slot.bytes[..usize::from(slot.length)]
    }
}

impl Frames {
    /// Stores a copy of a frame; `None` if it is longer than all frames of netkv.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) -> Option<FrameId> {
        if bytes.len() <= TINY {
            Some(FrameId::new(IS_TINY, self.tiny.add(bytes)))
        } else if bytes.len() <= SMALL {
            Some(FrameId::new(IS_SMALL, self.small.add(bytes)))
        } else if bytes.len() <= LARGE {
            Some(FrameId::new(IS_LARGE, self.large.add(bytes)))
        } else if bytes.len() <= JUMBO {
            Some(FrameId::new(IS_JUMBO, self.jumbo.add(bytes)))
        } else {
            None
        }
    }

    /// Whether frames of this length can be stored.
    #[inline]
    pub fn fits(length: usize) -> bool {
        length <= JUMBO
    }

    /// Another frame with the same bytes.
    pub fn copy(&mut self, frame: FrameId) -> FrameId {
        let place = match frame.size() {
            IS_TINY => self.tiny.copy(frame.place()),
            IS_SMALL => self.small.copy(frame.place()),
            IS_LARGE => self.large.copy(frame.place()),
            _ => self.jumbo.copy(frame.place()),
        };
        FrameId::new(frame.size(), place)
    }

    /// Its bytes.
    #[inline]
    pub fn get(&self, frame: FrameId) -> &[u8] {
        match frame.size() {
            IS_TINY => self.tiny.get(frame.place()),
            IS_SMALL => self.small.get(frame.place()),
            IS_LARGE => self.large.get(frame.place()),
            _ => self.jumbo.get(frame.place()),
        }
    }

    /// Its bytes, to change them.
    pub fn get_mut(&mut self, frame: FrameId) -> &mut [u8] {
        match frame.size() {
            IS_TINY => self.tiny.get_mut(frame.place()),
            IS_SMALL => self.small.get_mut(frame.place()),
            IS_LARGE => self.large.get_mut(frame.place()),
            _ => self.jumbo.get_mut(frame.place()),
        }
    }

    /// Starts loading a frame into the processor's caches.
    #[inline]
    pub fn prefetch(&self, frame: FrameId) {
        match frame.size() {
            IS_TINY => crate::sys::prefetch(&self.tiny.slots[frame.place() as usize]),
            IS_SMALL => crate::sys::prefetch(&self.small.slots[frame.place() as usize]),
            _ => {}
        }
    }

    /// Its number of bytes.
    #[inline]
    pub fn len(&self, frame: FrameId) -> usize {
        self.get(frame).len()
    }

    /// Frees the slot of a frame.
    #[inline]
    pub fn free(&mut self, frame: FrameId) {
        let free = match frame.size() {
            IS_TINY => &mut self.tiny.free,
            IS_SMALL => &mut self.small.free,
            IS_LARGE => &mut self.large.free,
            _ => &mut self.jumbo.free,
        };
        free.push(frame.place());
    }

    /// Number of frames in flight.
    pub fn count(&self) -> usize {
        self.tiny.count() + self.small.count() + self.large.count() + self.jumbo.count()
    }
}
