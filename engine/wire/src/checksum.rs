//! Internet checksums (RFC 1071) of IPv4 headers and UDP datagrams.
//!
//! Sums are those of words in the processor's byte order: the one's complement sum of exchanged
//! bytes is the exchanged sum (RFC 1071, section 2 B), so only a checksum that is written needs
//! its bytes exchanged.

use crate::{ETHERNET_LEN, IPV4_LEN, KV_OFFSET, UDP_LEN};

/// Offset of the IPv4 addresses, with which the part of a frame that a UDP checksum covers begins.
const ADDRESSES: usize = ETHERNET_LEN + 12;
/// Offset of the UDP header.
const UDP: usize = ETHERNET_LEN + IPV4_LEN;
/// Offset of the UDP checksum.
const UDP_CHECKSUM: usize = UDP + 6;
/// The protocol number of UDP.
const UDP_PROTOCOL: u8 = 17;

/// Whether the checksum of an IPv4 header is right.
#[inline]
pub(crate) fn is_ipv4_right(header: &[u8; IPV4_LEN]) -> bool {
    fold(sum(header)) == 0xffff
}

/// Whether the UDP checksum of a frame is right, or 0 (none). `datagram_end` is the end of the UDP
/// payload in the frame, at least 42.
#[inline]
pub(crate) fn is_udp_right(frame: &[u8], datagram_end: usize) -> bool {
    frame[UDP_CHECKSUM..KV_OFFSET] == [0, 0] || fold(udp_sum(frame, datagram_end)) == 0xffff
}

/// Whether flipped bits show in an IPv4 frame: the checksum of its header or of its UDP datagram is
/// wrong, or the datagram has another length than the packet. Other frames, and packets that are
/// cut short, show nothing.
pub fn is_damaged(frame: &[u8]) -> bool {
    if frame.get(ETHERNET_LEN - 2..ETHERNET_LEN) != Some(&[0x08, 0x00]) {
        return false;
    }
    let Some(ip) = frame.get(ETHERNET_LEN..UDP).and_then(|ip| ip.first_chunk()) else {
        return false;
    };
    if ip[0] != 0x45 {
        let options = frame.get(ETHERNET_LEN..ETHERNET_LEN + 4 * usize::from(ip[0] & 0xf));
        return options.is_some_and(|header| fold(sum(header)) != 0xffff);
    }
    if !is_ipv4_right(ip) {
        return true;
    }
    let is_fragment = ip[6] & 0x3f != 0 || ip[7] != 0;
    if ip[9] != UDP_PROTOCOL || is_fragment {
        return false;
    }
    let end = ETHERNET_LEN + usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    if end < KV_OFFSET || frame.len() < end {
        return false;
    }
    let length = usize::from(u16::from_be_bytes([frame[UDP + 4], frame[UDP + 5]]));
    end != UDP + length || !is_udp_right(frame, end)
}

/// Writes the UDP checksum of a frame whose other bytes are complete: an IPv4 packet without
/// options, up to the end of the frame.
///
/// # Panics
///
/// If the frame is shorter than its UDP header.
#[inline]
pub fn set_udp_checksum(frame: &mut [u8]) {
    frame[UDP_CHECKSUM..KV_OFFSET].fill(0);
    let checksum = match !fold(udp_sum(frame, frame.len())) {
        // 0 means that there is none (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    frame[UDP_CHECKSUM..KV_OFFSET].copy_from_slice(&checksum.to_ne_bytes());
}

/// The sum of the pseudo header, the UDP header and its payload up to `datagram_end`.
fn udp_sum(frame: &[u8], datagram_end: usize) -> u64 {
    let [high, low] = ((datagram_end - UDP) as u16).to_be_bytes();
    let pseudo = u32::from_ne_bytes([0, UDP_PROTOCOL, high, low]);
    // The addresses of the pseudo header are those before the UDP header.
    sum(&frame[ADDRESSES..datagram_end]) + u64::from(pseudo)
}

/// The sum of the words of `bytes`, the last of which is filled up with zeros.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    // Words of 32 bits have the same sum: 2^16 is 1 in one's complement of 16 bits.
    let (words, rest) = bytes.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_ne_bytes(last))
}

/// Folds a sum of words of 32 bits to one's complement of 16 bits.
#[inline]
pub(crate) fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

const _: () = assert!(UDP + UDP_LEN == KV_OFFSET && ADDRESSES.is_multiple_of(2));
