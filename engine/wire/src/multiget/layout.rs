//! Sizes of the parts of a multiget, and their limits.

use crate::layout::{IPV4_LEN, MAX_VALUE, UDP_LEN};

/// UDP port of multigets. Frames are recognised by their destination port; both are set to it.
pub const MULTIGET_PORT: u16 = 5009;
/// Largest IPv4 packet, in bytes, unless [`Fields::mtu`] is larger.
pub const MTU: usize = 1500;
/// Largest value of [`Fields::mtu`].
pub const MAX_MTU: usize = 9000;
/// Maximum number of keys of a request.
pub const MAX_KEYS: usize = 128;
/// Keys of a request that a switch splits with the KEYIDX of the paper, which has 2 bytes.
pub const PAPER_SPLIT_KEYS: u8 = 16;
/// Maximum number of SRV fields, and so of servers of a rack.
pub const MAX_FIELDS: u8 = 32;
/// Shortest key in bytes.
pub const MIN_KEY: usize = 4;
/// Longest key in bytes.
pub const MAX_KEY: usize = 64;

/// Bytes of the header before KEYIDX.
pub(super) const BEFORE_KEYIDX: usize = 7;
/// Bytes of STARTIDX and CLO, which are between KEYIDX and the SRV fields.
pub(super) const BEFORE_SRV: usize = 2;
/// Bytes of client and request number at the end of a coordinator's PUT or DELETE.
pub(super) const ON_BEHALF_LEN: usize = 6;

/// Sizes of the header fields that the switch program was compiled with, and of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Number of SRV fields.
    pub srv: u8,
    /// Bits of KEYIDX: keys of a request that the switch splits, a multiple of 8 up to 128.
    pub split_keys: u8,
    /// Largest IPv4 packet in bytes, from [`MTU`] to [`MAX_MTU`].
    pub mtu: u16,
}

impl Fields {
    /// `srv` SRV fields, the KEYIDX of the paper, and packets of [`MTU`] bytes.
    pub const fn of_paper(srv: u8) -> Self {
        Self { srv, split_keys: PAPER_SPLIT_KEYS, mtu: MTU as u16 }
    }

    /// Bytes of KEYIDX.
    pub const fn keyidx_len(self) -> usize {
        self.split_keys as usize / 8
    }

    /// Bytes of the header, the id of the rack included.
    pub const fn header_len(self) -> usize {
        BEFORE_KEYIDX + self.keyidx_len() + BEFORE_SRV + self.srv as usize + 1
    }

    /// Bytes after the header that fit into a packet.
    pub const fn payload_room(self) -> usize {
        self.mtu as usize - IPV4_LEN - UDP_LEN - self.header_len()
    }
}

/// As [`Fields::of_paper`].
impl From<u8> for Fields {
    fn from(srv: u8) -> Self {
        Self::of_paper(srv)
    }
}

/// Number of the keys, given by their lengths in bytes, that fit into a request.
pub fn keys_that_fit(lengths: impl IntoIterator<Item = usize>, fields: impl Into<Fields>) -> usize {
    let mut room = fields.into().payload_room();
    let fits = |length: &usize| {
        let left = room.checked_sub(1 + length);
        room = left.unwrap_or(0);
        left.is_some()
    };
    lengths.into_iter().take(MAX_KEYS).take_while(fits).count()
}

// Each request that the paper's switch splits, each PUT, and each reply with one key fit into a
// packet.
const LEAST_ROOM: usize =
    Fields { split_keys: MAX_KEYS as u8, ..Fields::of_paper(MAX_FIELDS) }.payload_room();
const _: () = assert!(PAPER_SPLIT_KEYS as usize * (1 + MAX_KEY) <= LEAST_ROOM);
const _: () = assert!(1 + MAX_KEY + 2 + MAX_VALUE + ON_BEHALF_LEN <= LEAST_ROOM);
const _: () = assert!(1 + 1 + MAX_KEY + 1 + 2 + MAX_VALUE <= LEAST_ROOM);
