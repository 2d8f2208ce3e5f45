//! Big-endian fields of frames.

#[inline]
pub(crate) fn u16_at(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

#[inline]
pub(crate) fn u32_at(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

/// Adds to a 16-bit field, with wrap-around as in programs.
#[inline]
pub(crate) fn add_u16(frame: &mut [u8], at: usize, by: u16) {
    let sum = u16_at(frame, at).wrapping_add(by);
    copy(frame, at, &sum.to_be_bytes());
}

/// Writes bytes at an offset.
#[inline]
pub(crate) fn copy(frame: &mut [u8], at: usize, bytes: &[u8]) {
    frame[at..at + bytes.len()].copy_from_slice(bytes);
}
