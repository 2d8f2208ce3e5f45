//! Memory that the kernel shares with this process: the rings of a socket.

use std::io;
use std::mem::{align_of, size_of};
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// A mapping of shared memory; it ends with its owner.
///
/// The kernel writes into it at any time. Who writes what is agreed upon by words in it: a side
/// touches bytes only while the word that guards them says that they are its own. Words are read
/// with [`Mapping::load`] and written with [`Mapping::store`], so that what they guard is seen
/// after them and written before them.
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process and not to a thread, and its owner alone has it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes of a descriptor from `offset` on.
    pub fn new(descriptor: RawFd, length: usize, offset: i64) -> io::Result<Self> {
        Self::map(length, libc::MAP_SHARED | libc::MAP_POPULATE, descriptor, offset)
    }

    /// Maps fresh memory that begins at a page, for the kernel to be told of.
    pub fn anonymous(length: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Self::map(length, flags, -1, 0)
    }

    fn map(length: usize, flags: libc::c_int, fd: RawFd, offset: i64) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, length })
    }

    /// Where it begins, for a system call.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Panics unless `length` bytes at `offset` are inside: offsets partly come from the kernel.
    fn check(&self, offset: usize, length: usize) {
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.length);
        assert!(inside, "{length} bytes at {offset} of a ring of {} bytes", self.length);
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        self.check(offset, size_of::<u32>());
        assert!(offset.is_multiple_of(align_of::<AtomicU32>()), "the word at {offset}");
        // SAFETY: inside and aligned (just checked; the mapping begins at a page), and both sides
        // use such words atomically.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// A word that guards bytes.
    pub fn load(&self, offset: usize) -> u32 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Sets a word that guards bytes.
    pub fn store(&self, offset: usize, value: u32) {
        self.word(offset).store(value, Ordering::Release);
    }

    /// A copy of a structure of numbers. The bytes must be this side's.
    pub fn read<T: Numbers>(&self, offset: usize) -> T {
        self.check(offset, size_of::<T>());
        // SAFETY: inside (just checked), and any bytes are a valid `T`.
        unsafe { self.start.as_ptr().add(offset).cast::<T>().read_unaligned() }
    }

    /// Writes a structure of numbers. The bytes must be this side's.
    pub fn write<T: Numbers>(&self, offset: usize, value: T) {
        self.check(offset, size_of::<T>());
        // SAFETY: inside (just checked); the kernel does not look at bytes of this side.
        unsafe { self.start.as_ptr().add(offset).cast::<T>().write_unaligned(value) }
    }

    /// Copies bytes out. They must be this side's.
    pub fn copy_to(&self, offset: usize, to: &mut [u8]) {
        self.check(offset, to.len());
        // SAFETY: inside (just checked), and `to` is memory of ours, so they do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(self.start.as_ptr().add(offset), to.as_mut_ptr(), to.len());
        }
    }

    /// Copies bytes in. They must be this side's.
    pub fn copy_from(&self, offset: usize, from: &[u8]) {
        self.check(offset, from.len());
        // SAFETY: as in `copy_to`; the kernel does not look at bytes of this side.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), self.start.as_ptr().add(offset), from.len());
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A structure of which any bytes are a valid value.
///
/// # Safety
///
/// It consists of integers only.
pub unsafe trait Numbers: Copy {}

// SAFETY: integers only.
unsafe impl Numbers for u64 {}
// SAFETY: integers only.
unsafe impl Numbers for libc::tpacket2_hdr {}
// SAFETY: integers only.
unsafe impl Numbers for libc::tpacket3_hdr {}
// SAFETY: integers only.
unsafe impl Numbers for libc::xdp_desc {}
