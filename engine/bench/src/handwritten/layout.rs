//! Offsets of fields in frames.

use netkv_wire::{ETHERNET_LEN, IPV4_LEN, KV_LEN, KV_OFFSET};

/// The port to which a dropped frame is sent.
pub(crate) const DROP_PORT: u16 = netkv_dataplane::DROP_PORT as u16;

pub(crate) const MAC_DESTINATION: usize = 0;
pub(crate) const MAC_SOURCE: usize = 6;
pub(crate) const ETHERTYPE: usize = 12;

/// The IPv4 header, which begins with version and length.
pub(crate) const IPV4: usize = ETHERNET_LEN;
pub(crate) const TOTAL_LENGTH: usize = IPV4 + 2;
pub(crate) const FRAGMENT: usize = IPV4 + 6;
pub(crate) const PROTOCOL: usize = IPV4 + 9;
pub(crate) const SOURCE: usize = IPV4 + 12;
pub(crate) const DESTINATION: usize = IPV4 + 16;

pub(crate) const UDP: usize = IPV4 + IPV4_LEN;
pub(crate) const UDP_PORT: usize = UDP + 2;
pub(crate) const UDP_LENGTH: usize = UDP + 4;
pub(crate) const UDP_CHECKSUM: usize = UDP + 6;

pub(crate) const OP: usize = KV_OFFSET + 1;
pub(crate) const FLAGS: usize = KV_OFFSET + 2;
pub(crate) const STATUS: usize = KV_OFFSET + 3;
pub(crate) const LENGTH: usize = KV_OFFSET + 4;
pub(crate) const SENDER: usize = KV_OFFSET + 6;
pub(crate) const KEY: usize = KV_OFFSET + 12;
/// The first byte behind the kv header.
pub(crate) const KV_END: usize = KV_OFFSET + KV_LEN;
