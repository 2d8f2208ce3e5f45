//! The switch of the storage rack, written after the paper: Algorithm 2 on the bytes of a frame,
//! and routing by IP address.
//!
//! Section and line numbers are those of the NetMC paper. It is an independent implementation to
//! compare with: each pass is one traversal of the pipeline, and recirculated packets take another
//! one.

use netkv_wire::multiget::COORDINATOR_IP;
use netkv_wire::{Ip, KV_OFFSET, client_of_ip, mac_of, server_ip, set_udp_checksum};

const IP: usize = 14;

/// Where frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    Clients,
    Server(u16),
    Coordinator,
}

/// The switches of all racks in one, with ids from 1. `fields` is the number of SRV fields.
pub struct Splitter {
    pub fields: u8,
    pub racks: u8,
}

impl Splitter {
    /// Processes a frame. Returns the frames that leave, with their receivers.
    pub fn process(&self, frame: &[u8]) -> Vec<(Host, Vec<u8>)> {
        let header = &frame[KV_OFFSET..];
        let rack = header[11 + usize::from(self.fields)];
        let mine = header[0] & 0x80 == 0 && header[10] == 0 && (1..=self.racks).contains(&rack);
        if !mine {
            return host_of(&frame[IP + 16..IP + 20])
                .map(|to| (to, frame.to_vec()))
                .into_iter()
                .collect();
        }
        let (mut out, mut packet) = (Vec::new(), Some(frame.to_vec()));
        while let Some(frame) = packet.take() {
            packet = self.pass(frame, &mut out);
        }
        out
    }

    /// One pass. Returns the recirculated packet.
    fn pass(&self, mut frame: Vec<u8>, out: &mut Vec<(Host, Vec<u8>)>) -> Option<Vec<u8>> {
        let header = &mut frame[KV_OFFSET..];
        if header[10] == 1 {
            header[5] += 1; // line 2: OID
            header[9] += header[6]; // line 3: STARTIDX
        }
        let keyidx = u16::from_be_bytes([header[7], header[8]]);
        if keyidx == 0 {
            return None; // no group ends, so there is none
        }
        let keys = keyidx.leading_zeros() + 1; // line 5
        let rest = (u32::from(keyidx) << keys) as u16; // line 6
        header[7..9].copy_from_slice(&rest.to_be_bytes());
        header[6] = keys as u8; // line 7
        let server = header[10 + usize::from(header[5])]; // line 8: SRV of OID
        let address = server_ip(server.into());
        let clones = rest > 0; // line 9
        header[10] = u8::from(clones || header[10] == 1);
        frame[0..6].copy_from_slice(&mac_of(address));
        frame[IP + 16..IP + 20].copy_from_slice(&address);
        fix_checksum(&mut frame);
        set_udp_checksum(&mut frame);
        out.push((Host::Server(server.into()), frame.clone()));
        clones.then_some(frame)
    }
}

fn host_of(ip: &[u8]) -> Option<Host> {
    let ip: Ip = ip.try_into().ok()?;
    match ip {
        COORDINATOR_IP => Some(Host::Coordinator),
        [10, 2, high, low] => Some(Host::Server(u16::from_be_bytes([high, low]))),
        _ => client_of_ip(ip).map(|_| Host::Clients),
    }
}

fn fix_checksum(frame: &mut [u8]) {
    let ip = &mut frame[IP..IP + 20];
    ip[10..12].fill(0);
    let mut sum: u32 = ip.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
