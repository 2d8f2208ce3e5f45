//! The program `nocache.p4`, written in Rust, for frames from other ports than the CPU port.

use netkv_dataplane::Output;
use netkv_wire::{
    CPU_PORT, ETHERNET_LEN, FORMAT, IPV4_LEN, Ip, KV_LEN, KV_OFFSET, Mac, NETKV_PORT, SERVICE_IP,
    UDP_LEN, crc32,
};

use crate::handwritten::{Pipeline, Table, address, is_checksum_right, set_checksum};

const UDP_AT: usize = ETHERNET_LEN + IPV4_LEN;
/// Size of the table of routes.
const ROUTES: u32 = 4096;

// Offsets in a frame.
const ETHERTYPE: usize = 12;
const VERSION: usize = ETHERNET_LEN;
const TOTAL_LENGTH: usize = ETHERNET_LEN + 2;
const FRAGMENT: usize = ETHERNET_LEN + 6;
const PROTOCOL: usize = ETHERNET_LEN + 9;
const DESTINATION: usize = ETHERNET_LEN + 16;
const UDP_PORT: usize = UDP_AT + 2;
const UDP_LENGTH: usize = UDP_AT + 4;
const OP: usize = KV_OFFSET + 1;

const UDP: u8 = 17;
/// Upper half of the ops about statistics.
const STATISTICS: u8 = 3;

/// Why a frame is dropped: the index of its counter.
#[derive(Debug, Clone, Copy)]
enum Drop {
    Malformed = 1,
    NotIpv4 = 2,
    NoOwner = 3,
    NoRoute = 4,
    Forbidden = 5,
}

/// A server: the first and last hash that it owns, and its addresses.
#[derive(Debug, Clone, Copy)]
struct Owner {
    first: u32,
    last: u32,
    mac: Mac,
    ip: Ip,
}

/// The program, with its tables.
pub(super) struct NoCache {
    owners: Vec<Owner>,
    routes: Table<4, u16>,
    drops: [u64; 9],
    /// Port of the frames.
    port: u16,
}

impl NoCache {
    /// A pipeline without entries, for frames from this port.
    pub(super) fn new(port: u16) -> Self {
        debug_assert_ne!(port, CPU_PORT, "frames of the controller have one more header");
        Self { owners: Vec::new(), routes: Table::new(ROUTES), drops: [0; 9], port }
    }

    /// Adds the server that owns these hashes.
    pub(super) fn own(&mut self, (first, last): (u32, u32), mac: Mac, ip: Ip) {
        self.owners.push(Owner { first, last, mac, ip });
    }

    /// Adds a route from an address to a port.
    pub(super) fn route(&mut self, address: Ip, port: u16) {
        self.routes.insert(address, port);
    }

    /// Processes one frame.
    #[inline]
    fn process(&mut self, frame: &[u8], out: &mut Output) {
        if let Err(reason) = self.forward(frame, out) {
            self.drops[reason as usize] += 1;
        }
    }

    #[inline]
    fn forward(&self, frame: &[u8], out: &mut Output) -> Result<(), Drop> {
        let is_netkv = is_netkv(frame)?;
        if is_netkv && frame[OP] >> 4 == STATISTICS && frame[OP] & 1 == 0 {
            return Err(Drop::Forbidden);
        }
        let mut destination = address(frame, DESTINATION);
        let mut owner = None;
        if is_netkv && destination == SERVICE_IP {
            let hash = crc32(&frame[KV_OFFSET + KV_LEN - 16..KV_OFFSET + KV_LEN]);
            let found = self.owners.iter().find(|it| it.first <= hash && hash <= it.last);
            let found = found.ok_or(Drop::NoOwner)?;
            destination = found.ip;
            owner = Some(found);
        }
        let port = self.routes.get(&destination).ok_or(Drop::NoRoute)?;
        let before = if port == CPU_PORT { 2 } else { 0 };
        let length = before + frame.len();
        let room = &mut out.room(length)[..length];
        room[..before].copy_from_slice(&(self.port << 7).to_be_bytes()[..before]);
        let sent = &mut room[before..];
        sent.copy_from_slice(frame);
        if let Some(owner) = owner {
            sent[..6].copy_from_slice(&owner.mac);
            sent[DESTINATION..UDP_AT].copy_from_slice(&owner.ip);
        }
        if is_netkv {
            set_checksum(&mut sent[ETHERNET_LEN..UDP_AT]);
        }
        out.commit(port, length);
        Ok(())
    }
}

/// Whether a frame has a kv header; an error if it is malformed or not IPv4.
#[inline]
fn is_netkv(frame: &[u8]) -> Result<bool, Drop> {
    let number = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    if frame.len() < ETHERNET_LEN {
        return Err(Drop::Malformed);
    }
    if number(ETHERTYPE) != 0x0800 {
        return Err(Drop::NotIpv4);
    }
    if frame.len() < UDP_AT || frame[VERSION] >> 4 != 4 {
        return Err(Drop::Malformed);
    }
    let has_udp =
        frame[VERSION] & 15 == 5 && number(FRAGMENT) & 0x3fff == 0 && frame[PROTOCOL] == UDP;
    if !has_udp {
        return Ok(false);
    }
    if frame.len() < KV_OFFSET {
        return Err(Drop::Malformed);
    }
    if number(UDP_PORT) != NETKV_PORT {
        return Ok(false);
    }
    let (total, udp) = (number(TOTAL_LENGTH), number(UDP_LENGTH));
    let is_sound = frame.len() >= KV_OFFSET + KV_LEN
        && total == udp.wrapping_add(IPV4_LEN as u16)
        && usize::from(udp) >= UDP_LEN + KV_LEN
        && frame[KV_OFFSET] == FORMAT
        && is_checksum_right(&frame[ETHERNET_LEN..UDP_AT])
        && frame.len() >= ETHERNET_LEN + usize::from(total);
    if is_sound { Ok(true) } else { Err(Drop::Malformed) }
}

impl Pipeline for NoCache {
    fn process_batch(&mut self, frames: &[&[u8]], out: &mut Output) {
        for frame in frames {
            self.process(frame, out);
        }
    }

    fn counts(&self, _: u32) -> Vec<u64> {
        self.drops.to_vec()
    }
}
