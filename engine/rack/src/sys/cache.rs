//! Prefetching into the processor's caches.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Starts loading `bytes` bytes from `start` on into the caches. The memory need not exist.
#[inline]
pub fn prefetch_memory(start: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that a program could see, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (start, offset);
    }
}

/// Starts loading a value into the caches.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    prefetch_memory(std::ptr::from_ref(value).cast(), size_of_val(value));
}
