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
mod cache_metadata;
mod checksum;
mod chunks;
mod crc;
mod key;
mod layout;
mod load;
pub mod memcached;
pub mod multiget;
mod op;
mod partition;
mod serial_number;
mod stamp;
mod view;
mod write;

pub use address::{
    CONTROLLER_IP, CONTROLLER_SENDER, CPU_PORT, FIRST_SERVER_SENDER, MAX_CLIENTS, SERVICE_IP,
};
pub use address::{Ip, Mac, client_ip, client_of_ip, mac_of, sender_of_server, server_ip};
pub use cache_metadata::CacheMetadata;
pub use checksum::{is_damaged, set_udp_checksum};
pub use chunks::{capacity, chunks_for, padded};
pub use crc::{CrcTables, crc_tables, crc_word, crc32};
pub use key::Key;
pub use layout::{
    CACHE_METADATA_LEN, CHUNK, ETHERNET_LEN, FORMAT, IPV4_LEN, KV_LEN, KV_OFFSET, MAX_CACHED_VALUE,
    MAX_FRAME, MAX_VALUE, NETKV_PORT, UDP_LEN,
};
pub use load::{LOAD_LEN, Load};
pub use op::{Op, Status, flags};
pub use partition::{partition, partition_range};
pub use serial_number::is_newer;
pub use stamp::{SLOT_LEN, STAMP_LEN, Sequence, Slot, Stamp, bits};
pub use view::{FrameView, Malformed, peek_request};
pub use write::{Message, write_frame, write_outer};
