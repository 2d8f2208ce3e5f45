//! Memory of a driver in this process, which a design reads and writes while it runs.
//!
//! This module has `unsafe` code: the library keeps a pointer to the memory. It is accessed between
//! two calls of the library only, so never at the same time as by the library.
#![allow(unsafe_code)]

use std::ptr::NonNull;

/// What the bus of a design reads at once, at most.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; Memory::UNIT]);

/// A piece of memory at an address of a function.
pub struct Memory {
    pub function: u32,
    address: u64,
    lines: NonNull<Line>,
    count: usize,
}

// SAFETY: the memory belongs to this value, as that of a `Box`.
unsafe impl Send for Memory {}
// SAFETY: as above; `&self` only reads.
unsafe impl Sync for Memory {}

impl Memory {
    /// Length and address are multiples of this.
    pub const UNIT: usize = 64;

    /// Zeroed memory; a length that is no multiple of [`Self::UNIT`] is rounded up.
    pub fn new(function: u32, address: u64, length: usize) -> Self {
        let lines = vec![Line([0; Self::UNIT]); length.div_ceil(Self::UNIT)].into_boxed_slice();
        let count = lines.len();
        let lines = NonNull::from(Box::leak(lines)).cast();
        Self { function, address, lines, count }
    }

    pub fn bytes(&self) -> NonNull<u8> {
        self.lines.cast()
    }

    pub fn length(&self) -> usize {
        self.count * Self::UNIT
    }

    /// The offset of `length` bytes at an address.
    fn offset(&self, address: u64, length: usize) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        (offset.checked_add(length)? <= self.length()).then_some(offset)
    }

    /// The bytes at an address; `None` if they are not all in this memory.
    pub fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let offset = self.offset(address, length)?;
        // SAFETY: the bytes are within the memory, and the library does not run.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.bytes().as_ptr().add(offset), length) };
        Some(bytes.to_vec())
    }

    /// Changes the bytes at an address; `None` if they are not all in this memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        let offset = self.offset(address, bytes.len())?;
        // SAFETY: as in `read`; `&mut self` excludes other readers.
        unsafe {
            let place = self.bytes().as_ptr().add(offset);
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Some(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let lines = std::ptr::slice_from_raw_parts_mut(self.lines.as_ptr(), self.count);
        // SAFETY: pointer and length are those of the box that `new` has leaked.
        drop(unsafe { Box::from_raw(lines) });
    }
}
