//! Memory that is shared: with the kernel, the rings of a socket; with a process, a file.

use std::fs::File;
use std::io;
use std::mem::{align_of, size_of};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// A mapping of shared memory; unmapped when it is dropped.
///
/// The kernel writes into it at any time. A guard word states the owner of each range of bytes: the
/// kernel or this process. A side accesses bytes only while it owns them. [`Mapping::load`] reads a
/// guard word with acquire ordering, [`Mapping::store`] writes it with release ordering.
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and has one owner.
unsafe impl Send for Mapping {}
// SAFETY: all accesses follow the rules above, on every thread.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of a descriptor from `offset` on.
    pub fn new(descriptor: RawFd, length: usize, offset: i64) -> io::Result<Self> {
        Self::map(length, libc::MAP_SHARED | libc::MAP_POPULATE, descriptor, offset)
    }

    /// Maps the first `length` bytes of a file, which another process has mapped as well. Memory is
    /// allocated as it is used.
    ///
    /// # Errors
    ///
    /// The file is shorter, or cannot be mapped. A process that makes the file shorter later ends
    /// this process (SIGBUS).
    pub fn of_file(file: &File, length: usize) -> io::Result<Self> {
        if file.metadata()?.len() < length as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file is too short"));
        }
        Self::map(length, libc::MAP_SHARED, file.as_raw_fd(), 0)
    }

    /// Maps new memory, aligned to pages, that the caller registers with the kernel.
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

    /// Start address, for a system call.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// The address of `length` bytes at `offset`.
    pub fn bytes(&self, offset: usize, length: usize) -> NonNull<u8> {
        self.check(offset, length);
        // SAFETY: inside (just checked).
        unsafe { self.start.add(offset) }
    }

    /// Panics unless `length` bytes at `offset` are inside. Some offsets come from the kernel.
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

    /// Reads a guard word.
    pub fn load(&self, offset: usize) -> u32 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Writes a guard word.
    pub fn store(&self, offset: usize, value: u32) {
        self.word(offset).store(value, Ordering::Release);
    }

    /// Reads a structure of numbers. This process must own the bytes.
    pub fn read<T: Numbers>(&self, offset: usize) -> T {
        self.check(offset, size_of::<T>());
        // SAFETY: inside (just checked), and any bytes are a valid `T`.
        unsafe { self.start.as_ptr().add(offset).cast::<T>().read_unaligned() }
    }

    /// Writes a structure of numbers. This process must own the bytes.
    pub fn write<T: Numbers>(&self, offset: usize, value: T) {
        self.check(offset, size_of::<T>());
        // SAFETY: inside (just checked); the kernel does not access bytes that this process owns.
        unsafe { self.start.as_ptr().add(offset).cast::<T>().write_unaligned(value) }
    }

    /// Copies bytes out. This process must own them.
    pub fn copy_to(&self, offset: usize, to: &mut [u8]) {
        self.check(offset, to.len());
        // SAFETY: inside (just checked), and `to` is memory of ours, so they do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(self.start.as_ptr().add(offset), to.as_mut_ptr(), to.len());
        }
    }

    /// Copies bytes in. This process must own them.
    pub fn copy_from(&self, offset: usize, from: &[u8]) {
        self.check(offset, from.len());
        // SAFETY: as in `copy_to`; the kernel does not access bytes that this process owns.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), self.start.as_ptr().add(offset), from.len());
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and nothing borrows from it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A structure for which all bit patterns are valid values.
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
