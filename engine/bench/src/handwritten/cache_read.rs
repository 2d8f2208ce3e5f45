//! The yardstick program `cache_read.p4`, written in Rust.

use netkv_dataplane::Output;

use super::layout::DROP_PORT;
use super::{Counts, Pipeline, Table, add_u16, address, set_checksum};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
/// Offsets of the headers and of the key.
const UDP_AT: usize = ETHERNET + IPV4;
const KV_AT: usize = UDP_AT + UDP;
const KEY_AT: usize = KV_AT + 5;

const READ: u8 = 0;
const REPLY: u8 = 2;

/// The lookup entry of a key.
#[derive(Debug, Clone, Copy)]
struct Cached {
    index: u32,
    /// A part of the entry that the program does not use, either.
    #[allow(dead_code)]
    bitmap: u8,
}

/// The yardstick for keys of `KEY` bytes and values of `VALUE`.
pub struct CacheRead<const KEY: usize, const VALUE: usize> {
    lookup: Table<KEY, Cached>,
    routes: Table<4, u16>,
    hits: Box<[u32]>,
    valid: Box<[bool]>,
    values: Box<[[u8; VALUE]]>,
}

impl<const KEY: usize, const VALUE: usize> CacheRead<KEY, VALUE> {
    /// A pipeline without entries, for up to `capacity` of them.
    pub fn new(capacity: u32) -> Self {
        let cells = capacity as usize;
        Self {
            lookup: Table::new(capacity),
            routes: Table::new(1024),
            hits: vec![0; cells].into(),
            valid: vec![false; cells].into(),
            values: vec![[0; VALUE]; cells].into(),
        }
    }

    /// Caches a key in the cells at `index`.
    pub fn cache(&mut self, key: [u8; KEY], index: u32) {
        self.lookup.insert(key, Cached { index, bitmap: 255 });
    }

    /// Sets the cells at `index`.
    pub fn set(&mut self, index: u32, valid: bool, value: [u8; VALUE]) {
        self.valid[index as usize] = valid;
        self.values[index as usize] = value;
    }

    /// Adds a route from an address to a port.
    pub fn route(&mut self, address: [u8; 4], port: u16) {
        self.routes.insert(address, port);
    }

    /// Processes one frame.
    #[inline]
    pub fn process(&mut self, frame: &[u8], out: &mut Output) {
        if !is_ipv4(frame) {
            if let Some(port) = self.port([0; 4]) {
                out.push(port, frame);
            }
            return;
        }
        if let Some(index) = self.lookup_value(frame) {
            self.hits[index] = self.hits[index].wrapping_add(1);
            if self.valid[index] {
                self.reply(index, frame, out);
                return;
            }
        }
        if let Some(port) = self.port(address(frame, ETHERNET + 16)) {
            let copy = &mut out.room(frame.len())[..frame.len()];
            copy.copy_from_slice(frame);
            set_checksum(&mut copy[ETHERNET..UDP_AT]);
            out.commit(port, frame.len());
        }
    }

    /// The index of the cached value that an IPv4 frame requests.
    #[inline]
    fn lookup_value(&self, frame: &[u8]) -> Option<usize> {
        let is_read = frame.len() >= KEY_AT + KEY
            && frame[ETHERNET + 9] == 17
            && frame[UDP_AT + 2..UDP_AT + 4] == 5000u16.to_be_bytes()
            && frame[KV_AT] == READ;
        let key = frame.get(KEY_AT..)?.first_chunk::<KEY>().filter(|_| is_read)?;
        self.lookup.get(key).map(|cached| cached.index as usize)
    }

    /// Reflects a read as a reply with the value.
    #[inline]
    fn reply(&self, index: usize, frame: &[u8], out: &mut Output) {
        let Some(port) = self.port(address(frame, ETHERNET + 12)) else { return };
        let (request, rest) = frame.split_at(KEY_AT + KEY);
        let length = frame.len() + VALUE;
        let (reply, behind) = out.room(length)[..length].split_at_mut(KEY_AT + KEY);
        let (value, behind) = behind.split_at_mut(VALUE);
        reply.copy_from_slice(request);
        swap::<6>(reply, 0, 6);
        swap::<4>(reply, ETHERNET + 12, ETHERNET + 16);
        swap::<2>(reply, UDP_AT, UDP_AT + 2);
        add_u16(reply, ETHERNET + 2, VALUE as u16);
        add_u16(reply, UDP_AT + 4, VALUE as u16);
        reply[UDP_AT + 6..UDP_AT + 8].fill(0);
        reply[KV_AT] = REPLY;
        set_checksum(&mut reply[ETHERNET..UDP_AT]);
        value.copy_from_slice(&self.values[index]);
        behind.copy_from_slice(rest);
        out.commit(port, length);
    }

    /// The port for an address: 0 without a route, none if the frame is dropped.
    #[inline]
    fn port(&self, address: [u8; 4]) -> Option<u16> {
        Some(self.routes.get(&address).unwrap_or(0)).filter(|port| *port != DROP_PORT)
    }
}

impl<const KEY: usize, const VALUE: usize> Pipeline for CacheRead<KEY, VALUE> {
    fn process_batch(&mut self, _: u16, frames: &[&[u8]], out: &mut Output) {
        for frame in frames {
            self.process(frame, out);
        }
    }

    fn counts(&self) -> Counts {
        vec![("I.hits", self.hits.iter().map(|count| u64::from(*count)).collect())]
    }
}

/// Whether the parser extracts an Ethernet and an IPv4 header.
#[inline]
fn is_ipv4(frame: &[u8]) -> bool {
    frame.len() >= ETHERNET + IPV4 && frame[12..14] == 0x0800u16.to_be_bytes()
}

#[inline]
fn swap<const BYTES: usize>(frame: &mut [u8], a: usize, b: usize) {
    for i in 0..BYTES {
        frame.swap(a + i, b + i);
    }
}
