//! Writing multiget frames.

use super::{Answer, Fields, Header, MULTIGET_PORT};
use crate::write::write_outer;
use crate::{Ip, KV_OFFSET};

/// Addresses of a frame, and the sizes of its header fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Source address; the source MAC follows from it.
    pub source: Ip,
    /// Destination address; the destination MAC follows from it.
    pub destination: Ip,
    /// Sizes of the header fields.
    pub fields: Fields,
}

/// The client's request for which a coordinator sends a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OnBehalf {
    /// Number of the client.
    pub client: u16,
    /// Request number of the client.
    pub request: u32,
}

impl OnBehalf {
    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.client.to_be_bytes());
        out.extend_from_slice(&self.request.to_be_bytes());
    }
}

/// Appends an MGET, GET or DELETE with these keys (each of 4 to 64 bytes) as a frame.
pub fn write_keys<'k>(
    out: &mut Vec<u8>,
    addresses: &Addresses,
    header: &Header,
    keys: impl IntoIterator<Item = &'k [u8]>,
    on_behalf: Option<OnBehalf>,
) {
    let start = begin(out, addresses, header);
    keys.into_iter().for_each(|key| put_key(out, key));
    if let Some(client) = on_behalf {
        client.write(out);
    }
    finish(out, start, addresses);
}

/// Appends a PUT as a frame; the key has 4 to 64 bytes and the value at most 1024.
pub fn write_put(
    out: &mut Vec<u8>,
    addresses: &Addresses,
    header: &Header,
    key: &[u8],
    value: &[u8],
    on_behalf: Option<OnBehalf>,
) {
    let start = begin(out, addresses, header);
    put_key(out, key);
    put_value(out, value);
    if let Some(client) = on_behalf {
        client.write(out);
    }
    finish(out, start, addresses);
}

/// Bytes of an entry of a reply.
pub const fn entry_len(key: usize, value: Option<usize>) -> usize {
    let value = match value {
        Some(length) => 2 + length,
        None => 0,
    };
    1 + key + 1 + value
}

/// Appends a reply to a buffer, entry by entry, up to the size of a packet.
#[derive(Debug)]
pub struct ReplyWriter {
    start: usize,
    addresses: Addresses,
    entries: u8,
}

impl ReplyWriter {
    /// Begins a reply with a `header` from [`Header::answer`]. [`ReplyWriter::finish`] sets NUMKEY
    /// to the number of entries, if there are any.
    pub fn begin(
        out: &mut Vec<u8>,
        addresses: &Addresses,
        header: &Header,
        answer: Answer,
    ) -> Self {
        let start = begin(out, addresses, header);
        out.push(answer.code());
        Self { start, addresses: *addresses, entries: 0 }
    }

    /// Whether another entry of this length ([`entry_len`]) fits into the packet.
    pub fn has_room(&self, out: &[u8], entry: usize) -> bool {
        let payload = self.start + KV_OFFSET + self.addresses.fields.header_len();
        out.len() - payload + entry <= self.addresses.fields.payload_room()
    }

    /// Adds the entry of a key; replies to reads have a `value`.
    pub fn entry(&mut self, out: &mut Vec<u8>, key: &[u8], found: bool, value: Option<&[u8]>) {
        put_key(out, key);
        out.push(u8::from(!found));
        if let Some(value) = value {
            put_value(out, value);
        }
        self.entries += 1;
    }

    /// Completes the frame.
    pub fn finish(self, out: &mut [u8]) {
        if self.entries > 0 {
            out[self.start + KV_OFFSET + 6] = self.entries;
        }
        finish(out, self.start, &self.addresses);
    }
}

fn begin(out: &mut Vec<u8>, addresses: &Addresses, header: &Header) -> usize {
    let start = out.len();
    out.resize(start + KV_OFFSET, 0);
    header.write(out, addresses.fields);
    start
}

fn put_key(out: &mut Vec<u8>, key: &[u8]) {
    out.push(key.len() as u8);
    out.extend_from_slice(key);
}

fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&(value.len() as u16).to_be_bytes());
    out.extend_from_slice(value);
}

/// Writes the Ethernet, IPv4 and UDP headers, which contain the length.
fn finish(out: &mut [u8], start: usize, addresses: &Addresses) {
    let Addresses { source, destination, .. } = *addresses;
    write_outer(&mut out[start..], source, destination, (MULTIGET_PORT, MULTIGET_PORT));
}
