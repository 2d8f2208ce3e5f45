//! The checks that programs of netkv make of a frame before they read the header behind UDP.

use netkv_wire::{
    CPU_PORT, ETHERNET_LEN, FORMAT, IPV4_LEN, KV_LEN, KV_OFFSET, Key, NETKV_PORT, UDP_LEN,
};

use super::forwarding::{Drop, PORT_HEADER};
use super::ipv4::is_checksum_right;
use super::layout::{
    ETHERTYPE, FRAGMENT, IPV4, KEY, PROTOCOL, TOTAL_LENGTH, UDP, UDP_LENGTH, UDP_PORT,
};
use super::table::GROUP;
use super::u16_at;

const IP_PROTOCOL_UDP: u8 = 17;

/// Whether a frame has a kv header; an error if it is malformed or not IPv4.
#[inline]
pub(crate) fn has_kv(frame: &[u8]) -> Result<bool, Drop> {
    if frame.len() < ETHERNET_LEN {
        return Err(Drop::Malformed);
    }
    if u16_at(frame, ETHERTYPE) != 0x0800 {
        return Err(Drop::NotIpv4);
    }
    if frame.len() < UDP || frame[IPV4] >> 4 != 4 {
        return Err(Drop::Malformed);
    }
    let has_udp = frame[IPV4] & 15 == 5
        && u16_at(frame, FRAGMENT) & 0x3fff == 0
        && frame[PROTOCOL] == IP_PROTOCOL_UDP;
    if !has_udp {
        return Ok(false);
    }
    if frame.len() < KV_OFFSET {
        return Err(Drop::Malformed);
    }
    if u16_at(frame, UDP_PORT) != NETKV_PORT {
        return Ok(false);
    }
    let (total, udp) = (u16_at(frame, TOTAL_LENGTH), u16_at(frame, UDP_LENGTH));
    let is_sound = frame.len() >= KV_OFFSET + KV_LEN
        && total == udp.wrapping_add(IPV4_LEN as u16)
        && usize::from(udp) >= UDP_LEN + KV_LEN
        && is_checksum_right(&frame[IPV4..UDP])
        && frame.len() >= ETHERNET_LEN + usize::from(total)
        && frame[KV_OFFSET] == FORMAT;
    if is_sound { Ok(true) } else { Err(Drop::Malformed) }
}

/// The keys of frames that arrive by a port, which are not checked yet; none of a frame that is too
/// short.
#[inline]
pub(crate) fn keys_of(port: u16, frames: &[&[u8]]) -> [Option<Key>; GROUP] {
    let before = if port == CPU_PORT { PORT_HEADER } else { 0 };
    let mut keys = [None; GROUP];
    for (key, frame) in keys.iter_mut().zip(frames) {
        *key = frame.get(before + KEY..).and_then(|rest| rest.first_chunk()).copied();
    }
    keys
}
