//! Sizes of the parts of a multiget, and their limits.

use crate::layout::{IPV4_LEN, MAX_VALUE, UDP_LEN};

/// UDP port of multigets. Frames are recognised by their destination port; both are set to it.
pub const MULTIGET_PORT: u16 = 5009;
/// Largest IPv4 packet, in bytes.
pub const MTU: usize = 1500;
/// Maximum number of keys of a request.
pub const MAX_KEYS: usize = 128;
/// Maximum number of keys of a request that a switch splits: the bits of KEYIDX.
pub const MAX_SPLIT_KEYS: usize = 16;
/// Maximum number of SRV fields, and so of servers of a rack.
pub const MAX_FIELDS: u8 = 32;
/// Shortest key in bytes.
pub const MIN_KEY: usize = 4;
/// Longest key in bytes.
pub const MAX_KEY: usize = 64;

/// Bytes of the header before the SRV fields.
pub(super) const FIXED_LEN: usize = 11;
/// Bytes of client and request number at the end of a coordinator's PUT or DELETE.
pub(super) const ON_BEHALF_LEN: usize = 6;

/// Bytes of the header with `fields` SRV fields, the id of the rack included.
pub const fn header_len(fields: u8) -> usize {
    FIXED_LEN + fields as usize + 1
}

/// Bytes after the header that fit into a packet.
pub const fn payload_room(fields: u8) -> usize {
    MTU - IPV4_LEN - UDP_LEN - header_len(fields)
}

/// Number of the keys, given by their lengths in bytes, that fit into a request with `fields` SRV
/// fields.
pub fn keys_that_fit(lengths: impl IntoIterator<Item = usize>, fields: u8) -> usize {
    let mut room = payload_room(fields);
    let fits = |length: &usize| {
        let left = room.checked_sub(1 + length);
        room = left.unwrap_or(0);
        left.is_some()
    };
    lengths.into_iter().take(MAX_KEYS).take_while(fits).count()
}

// Each request that a switch splits, each PUT, and each reply with one key fit into a packet.
const _: () = assert!(MAX_SPLIT_KEYS * (1 + MAX_KEY) <= payload_room(MAX_FIELDS));
const _: () = assert!(1 + MAX_KEY + 2 + MAX_VALUE + ON_BEHALF_LEN <= payload_room(MAX_FIELDS));
const _: () = assert!(1 + 1 + MAX_KEY + 1 + 2 + MAX_VALUE <= payload_room(MAX_FIELDS));
