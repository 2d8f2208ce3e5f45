//! Prefetching into the processor's caches.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Starts loading `bytes` into the caches.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(LINE) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that a program could see, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}
