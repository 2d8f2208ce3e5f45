//! IPv4 headers of 20 bytes.

/// The four bytes of an address.
#[inline]
pub(crate) fn address(frame: &[u8], at: usize) -> [u8; 4] {
    [frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]
}

/// The checksum of a header, whatever its checksum field is.
#[inline]
fn checksum(header: &[u8]) -> [u8; 2] {
    let number = |two: &[u8]| u32::from(u16::from_be_bytes([two[0], two[1]]));
    let all: u32 = header.chunks_exact(2).map(number).sum();
    let mut sum = all - number(&header[10..12]);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    (!(sum as u16)).to_be_bytes()
}

/// Writes the checksum of a header.
#[inline]
pub(crate) fn set_checksum(header: &mut [u8]) {
    let checksum = checksum(header);
    header[10..12].copy_from_slice(&checksum);
}

/// Whether the checksum of a header is right.
#[inline]
pub(crate) fn is_checksum_right(header: &[u8]) -> bool {
    header[10..12] == checksum(header)
}
