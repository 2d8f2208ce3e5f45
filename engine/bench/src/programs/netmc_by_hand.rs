//! The program `netmc.p4`, written in Rust, with 8 SRV fields.
//!
//! A recirculated request comes back unchanged, so the next key group follows at once.

use netkv_dataplane::Output;
use netkv_wire::multiget::{MAX_SPLIT_KEYS, MULTIGET_PORT, Op};
use netkv_wire::{Ip, KV_OFFSET, Mac};

use crate::handwritten::layout::{DESTINATION, IPV4, MAC_DESTINATION, UDP};
use crate::handwritten::{
    Counts, DROP_REASONS, Drop, Forwarding, Pipeline, copy, enter, has_header, send, set_checksum,
    u16_at,
};

/// SRV fields of the header.
pub(super) const FIELDS: u8 = 8;

// Offsets in a frame.
const OP: usize = KV_OFFSET;
const OID: usize = KV_OFFSET + 5;
const NUMKEY: usize = KV_OFFSET + 6;
const KEYIDX: usize = KV_OFFSET + 7;
const STARTIDX: usize = KV_OFFSET + 9;
const CLO: usize = KV_OFFSET + 10;
const SRV: usize = KV_OFFSET + 11;
const RACK: usize = SRV + FIELDS as usize;
const HEADER: usize = RACK + 1 - KV_OFFSET;

/// A server of the rack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server {
    pub mac: Mac,
    pub ip: Ip,
    pub port: u16,
    /// The port of its multicast group, which has a second copy for recirculation; none without
    /// the group.
    pub group: Option<u16>,
}

/// The key groups of a request that are left.
struct Groups {
    oid: u8,
    numkey: u8,
    keyidx: u16,
    startidx: u8,
}

impl Groups {
    /// Makes the next key group the current one.
    #[inline]
    fn take(&mut self) {
        self.numkey = self.keyidx.leading_zeros() as u8 + 1;
        self.keyidx = self.keyidx.checked_shl(self.numkey.into()).unwrap_or(0);
    }

    /// Continues behind the current key group.
    #[inline]
    fn advance(&mut self) {
        self.oid += 1;
        self.startidx += self.numkey;
    }
}

/// The program, with its tables.
pub(super) struct NetMc {
    forwarding: Forwarding,
    /// The rack whose requests the switch splits.
    rack: u8,
    /// By number.
    servers: Box<[Option<Server>]>,
    drops: [u64; DROP_REASONS],
}

impl NetMc {
    /// A pipeline without servers.
    pub(super) fn new(forwarding: Forwarding, rack: u8) -> Self {
        Self { forwarding, rack, servers: vec![None; 256].into(), drops: [0; DROP_REASONS] }
    }

    /// Adds a server of the rack.
    pub(super) fn insert(&mut self, number: u8, server: Server) {
        self.servers[usize::from(number)] = Some(server);
    }

    #[inline]
    fn process(&self, from: u16, frame: &[u8], out: &mut Output) -> Result<(), Drop> {
        let Some(frame) = enter(from, frame, out)? else { return Ok(()) };
        if !has_header(frame, MULTIGET_PORT, HEADER)? || !self.splits(frame) {
            return self.forwarding.route(from, frame, out);
        }
        let mut groups = Groups {
            oid: frame[OID],
            numkey: frame[NUMKEY],
            keyidx: u16_at(frame, KEYIDX),
            startidx: frame[STARTIDX],
        };
        let is_sound = (1..=MAX_SPLIT_KEYS as u8).contains(&groups.numkey)
            && groups.keyidx != 0
            && groups.oid == 1
            && groups.startidx == 0;
        if !is_sound {
            return Err(Drop::NotSplit);
        }
        let (mut is_clone, mut from) = (false, from);
        loop {
            groups.take();
            if groups.oid > FIELDS {
                return Err(Drop::NotSplit);
            }
            let number = frame[SRV + usize::from(groups.oid) - 1];
            let server = self.servers[usize::from(number)].as_ref().ok_or(Drop::NotSplit)?;
            is_clone |= groups.keyidx > 0;
            let write = |sent: &mut [u8]| {
                sent.copy_from_slice(frame);
                write_group(sent, server, &groups, is_clone);
            };
            if groups.keyidx == 0 {
                send(out, from, server.port, frame.len(), write);
                return Ok(());
            }
            let Some(port) = server.group else { return Ok(()) };
            write(&mut out.room(frame.len())[..frame.len()]);
            out.commit(port, frame.len());
            groups.advance();
            from = 0; // a recirculated frame has no port
        }
    }

    /// Whether the switch splits this request. A cloned frame that arrives is a sub-request of
    /// another switch.
    #[inline]
    fn splits(&self, frame: &[u8]) -> bool {
        let is_request = (Op::Mget.code()..=Op::Delete.code()).contains(&frame[OP]);
        frame[CLO] == 0 && is_request && frame[RACK] == self.rack
    }
}

/// Turns a copy of the request into the sub-request of a key group.
#[inline]
fn write_group(sent: &mut [u8], server: &Server, groups: &Groups, is_clone: bool) {
    copy(sent, MAC_DESTINATION, &server.mac);
    copy(sent, DESTINATION, &server.ip);
    sent[OID] = groups.oid;
    sent[NUMKEY] = groups.numkey;
    copy(sent, KEYIDX, &groups.keyidx.to_be_bytes());
    sent[STARTIDX] = groups.startidx;
    sent[CLO] = u8::from(is_clone);
    set_checksum(&mut sent[IPV4..UDP]);
}

impl Pipeline for NetMc {
    fn process_batch(&mut self, port: u16, frames: &[&[u8]], out: &mut Output) {
        for frame in frames {
            if let Err(reason) = self.process(port, frame, out) {
                self.drops[reason as usize] += 1;
            }
        }
    }

    fn counts(&self) -> Counts {
        vec![("NetkvIngress.drop.reasons", self.drops.to_vec())]
    }
}
