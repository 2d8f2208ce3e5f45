//! Wire format of netkv: reading and writing frames.
//!
//! A frame consists of, in this order:
//!
//! - Ethernet (14 bytes), IPv4 (20, no options), UDP (8) and the `kv` header (28);
//! - cache metadata ([`CacheMetadata`], 9 bytes), if [`flags::CACHE_METADATA`] is set;
//! - a version stamp ([`Stamp`], 13 bytes), if [`flags::STAMPED`] is set;
//! - a slot ([`Slot`], 6 bytes), if the message is about an entry ([`Op::has_slot`]);
//! - the load of a switch ([`Load`], 6 bytes), if [`flags::LOAD`] is set;
//! - the value in chunks of 16 bytes.
//!
//! All fields are big-endian; `docs/internals/wire-format.md` describes them. No other Rust code
//! defines opcodes, layouts or addresses, and tests compare the P4 headers with this crate byte by
//! byte. Multigets have frames of their own, in [`multiget`], and so has memcached's protocol, in
//! [`memcached`].
//!
//! Only the buffer that a frame is appended to allocates memory, when it grows.

#![forbid(unsafe_code)]

mod address;
mod checksum;
mod chunks;
mod crc;
mod load;
pub mod memcached;
pub mod multiget;
mod op;
mod partition;
mod stamp;
mod view;
mod write;

pub use address::{
    CONTROLLER_IP, CONTROLLER_SENDER, CPU_PORT, FIRST_SERVER_SENDER, MAX_CLIENTS, SERVICE_IP,
};
pub use address::{Ip, Mac, client_ip, client_of_ip, mac_of, sender_of_server, server_ip};
pub use checksum::{is_damaged, set_udp_checksum};
pub use chunks::{capacity, chunks_for, padded};
pub use crc::{CrcTables, crc_tables, crc_word, crc32};
pub use load::{LOAD_LEN, Load};
pub use op::{Op, Status, flags};
pub use partition::{partition, partition_range};
pub use stamp::{SLOT_LEN, STAMP_LEN, Sequence, Slot, Stamp, bits};
pub use view::{FrameView, Malformed, peek_request};
pub use write::{Message, write_frame, write_outer};

/// A key: always 16 bytes.
pub type Key = [u8; 16];

/// UDP port of netkv. Frames are recognised by their destination port; both are set to it.
pub const NETKV_PORT: u16 = 5008;
/// Version of the layout, first byte of the `kv` header.
pub const FORMAT: u8 = 1;
/// Bytes of the Ethernet header.
pub const ETHERNET_LEN: usize = 14;
/// Bytes of the IPv4 header (never with options).
pub const IPV4_LEN: usize = 20;
/// Bytes of the UDP header.
pub const UDP_LEN: usize = 8;
/// Bytes of the `kv` header.
pub const KV_LEN: usize = 28;
/// Bytes of the cache metadata.
pub const CACHE_METADATA_LEN: usize = 9;
/// Offset of the `kv` header in a frame.
pub const KV_OFFSET: usize = ETHERNET_LEN + IPV4_LEN + UDP_LEN;
/// Bytes of a chunk, the unit in which a switch stores values.
pub const CHUNK: usize = 16;
/// Largest value that a switch caches, in bytes: 8 arrays of one chunk.
pub const MAX_CACHED_VALUE: usize = 128;
/// Largest value that the system stores, in bytes.
pub const MAX_VALUE: usize = 1024;
/// Largest frame that netkv sends, in bytes: no frame has both cache metadata and a stamp, and no
/// frame with a slot has a value above [`MAX_CACHED_VALUE`].
pub const MAX_FRAME: usize = KV_OFFSET + KV_LEN + STAMP_LEN + MAX_VALUE;

/// Cache metadata: the state of a cached key in the switch. The switch adds it to requests; server
/// and controller use it in messages to the switch and each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheMetadata {
    /// Number of the insertion of the key: given by the controller, never reused, never 0.
    pub generation: u32,
    /// Number of writes that passed the switch for this entry; compare with [`is_newer`].
    pub version: u32,
    /// Value arrays of the entry: bit `i` (least significant is 0) is array `i`.
    pub bitmap: u8,
}

/// Whether `a` is newer than `b` as serial numbers, which may wrap.
///
/// True if the distance from `b` up to `a` is between 1 and 2^31 - 1.
pub fn is_newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_keep_their_order_across_the_wrap() {
        assert!(is_newer(1, 0));
        assert!(!is_newer(0, 0));
        assert!(!is_newer(0, 1));
        assert!(is_newer(0, u32::MAX));
        assert!(is_newer(5, u32::MAX - 5));
        assert!(!is_newer(u32::MAX - 5, 5));
    }
}
