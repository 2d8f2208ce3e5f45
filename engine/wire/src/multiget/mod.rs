//! Wire format of multigets (NetMC, CliMC, CoordiMC), whose frames have several keys.
//!
//! A frame is Ethernet, IPv4 and UDP to [`MULTIGET_PORT`] as in the rest of the crate, then the
//! header of the NetMC paper (section III-B), with the number `fields` of SRV fields that the
//! switch program was compiled with, and the id of the rack whose switch splits the request. The
//! header is followed by
//!
//! - in MGET, GET and DELETE: the keys, each after its length (1 byte). A sub-request contains all
//!   keys of its request, and requests NUMKEY of them from STARTIDX on;
//! - in PUT: the key, and the value after its length (2 bytes);
//! - in replies: the [`Answer`]. If it is `Ok`, an entry for each key follows: the key, whether it
//!   was found, and for reads the value.
//!
//! A PUT or DELETE of a coordinator ends with the client and its request number. Servers recognize
//! copies of the write by them, also after a restart of the coordinator. All fields are big-endian;
//! `docs/schemes/netmc.md` describes the layout.

mod address;
mod group;
mod header;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub use address::{COORDINATOR_IP, owner, rack_of, splitter_ip};
pub use group::{Groups, group};
pub use header::{Answer, Header, Op};
pub use view::{Entries, Entry, Keys, Malformed, View};
pub use write::{Addresses, OnBehalf, ReplyWriter, entry_len, write_keys, write_put};

use crate::{IPV4_LEN, MAX_VALUE, UDP_LEN};

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
const FIXED_LEN: usize = 11;
/// Bytes of client and request number at the end of a coordinator's PUT or DELETE.
const ON_BEHALF_LEN: usize = 6;

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
