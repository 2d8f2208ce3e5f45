//! IPv4 headers of 20 bytes.

/// The four bytes of an address.
#[inline]
pub(crate) fn address(frame: &[u8], at: usize) -> [u8; 4] {
    [frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]
}

/// Writes the checksum of a header.
#[inline]
pub(crate) fn set_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let words = header.chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let mut sum: u32 = words.sum();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// Whether the checksum of a header is right.
#[inline]
pub(crate) fn is_checksum_right(header: &[u8]) -> bool {
    let mut copy: [u8; 20] = [0; 20];
    copy.copy_from_slice(header);
    set_checksum(&mut copy);
    copy[10..12] == header[10..12]
}
