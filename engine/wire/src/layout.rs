//! Sizes and offsets of the parts of a frame.

use crate::stamp::STAMP_LEN;

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
