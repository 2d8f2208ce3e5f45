//! Memcached's binary protocol over UDP, as far as netkv's own clients and servers use it: GET, SET
//! and DELETE, one operation in a datagram. Field names are those of memcached's protocol document.
//!
//! A datagram begins with memcached's frame header of 8 bytes (request id, sequence number, number
//! of datagrams, reserved).

use crate::view::check_outer;
use crate::{ETHERNET_LEN, IPV4_LEN, Ip, KV_OFFSET, Malformed, write_outer};

/// UDP port of the server.
pub const PORT: u16 = 11_211;
/// UDP port of netkv's clients, each of which has an address of its own.
pub const CLIENT_PORT: u16 = 40_000;
/// Largest value: longer ones do not fit into one datagram of memcached.
pub const MAX_VALUE: usize = 1364;

/// Bytes of the frame header.
const FRAME_HEADER: usize = 8;
/// Bytes of the binary header.
const HEADER: usize = 24;
const REQUEST: u8 = 0x80;
const REPLY: u8 = 0x81;
/// Flags and expiry of a SET.
const SET_EXTRAS: usize = 8;
/// Flags in the reply to a GET.
const GET_EXTRAS: usize = 4;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// Read the value of a key.
    Get,
    /// Write the value of a key, without expiry.
    Set,
    /// Delete a key.
    Delete,
}

impl Opcode {
    const fn code(self) -> u8 {
        match self {
            Self::Get => 0,
            Self::Set => 1,
            Self::Delete => 4,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Get),
            1 => Some(Self::Set),
            4 => Some(Self::Delete),
            _ => None,
        }
    }
}

/// Result codes of replies.
pub mod status {
    /// Done.
    pub const OK: u16 = 0;
    /// The key has no value.
    pub const NOT_FOUND: u16 = 1;
    /// The item has another CAS version than the SET requires.
    pub const EXISTS: u16 = 2;
    /// The value does not fit.
    pub const TOO_LARGE: u16 = 3;
    /// The server has failed.
    pub const INTERNAL_ERROR: u16 = 0x84;
    /// Nothing was done, and the client may try again.
    pub const BUSY: u16 = 0x85;
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Address of the client.
    pub source: Ip,
    /// UDP port of the client.
    pub source_port: u16,
    /// Address of the server.
    pub destination: Ip,
    /// Operation.
    pub opcode: Opcode,
    /// Request id of the frame header.
    pub id: u16,
    /// Number that the reply repeats.
    pub opaque: u32,
    /// CAS version that the item must have for the operation to take effect; 0 for any.
    pub cas: u64,
    /// Key.
    pub key: &'a [u8],
    /// Value of a SET; empty otherwise.
    pub value: &'a [u8],
}

/// A reply in one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Address of the server.
    pub source: Ip,
    /// Address of the client.
    pub destination: Ip,
    /// UDP port of the client.
    pub destination_port: u16,
    /// Operation.
    pub opcode: Opcode,
    /// Request id of the frame header.
    pub id: u16,
    /// Result, a code of [`status`].
    pub status: u16,
    /// Number of the request.
    pub opaque: u32,
    /// Version of the item.
    pub cas: u64,
    /// Value of a GET, or a text; empty if there is none.
    pub value: &'a [u8],
}

/// The parts of a datagram of either direction.
struct Datagram<'a> {
    source: Ip,
    destination: Ip,
    source_port: u16,
    id: u16,
    header: &'a [u8],
    opcode: Opcode,
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Checks a frame for UDP port `port`; its binary header must begin with `magic`.
    fn parse(frame: &'a [u8], port: u16, magic: u8) -> Result<Self, Malformed> {
        let needed = KV_OFFSET + FRAME_HEADER + HEADER;
        let cut_short = |needed| Malformed::CutShort { needed, found: frame.len() };
        if frame.len() < needed {
            return Err(cut_short(needed));
        }
        let (source, destination, end) = check_outer(frame, port)?;
        if end < needed {
            return Err(cut_short(needed));
        }
        let (datagram, header) = (&frame[KV_OFFSET..end], KV_OFFSET + FRAME_HEADER);
        let body = &frame[needed..end];
        let header = &frame[header..needed];
        if header[0] != magic || datagram[2..6] != [0, 0, 0, 1] {
            return Err(Malformed::Format(header[0]));
        }
        let opcode = Opcode::from_code(header[1]).ok_or(Malformed::Op(header[1]))?;
        let key = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let extras = usize::from(header[4]);
        let total = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
        if total != body.len() || extras + key > total {
            return Err(Malformed::Lengths);
        }
        let port_at = ETHERNET_LEN + IPV4_LEN;
        Ok(Self {
            source,
            destination,
            source_port: u16::from_be_bytes([frame[port_at], frame[port_at + 1]]),
            id: u16::from_be_bytes([datagram[0], datagram[1]]),
            header,
            opcode,
            key: &body[extras..extras + key],
            value: &body[extras + key..],
        })
    }

    fn opaque(&self) -> u32 {
        let header = self.header;
        u32::from_be_bytes([header[12], header[13], header[14], header[15]])
    }

    fn cas(&self) -> u64 {
        self.header[16..24].iter().fold(0, |cas, byte| cas << 8 | u64::from(*byte))
    }
}

impl<'a> Request<'a> {
    /// Checks every header of a frame.
    ///
    /// # Errors
    ///
    /// The reason why it is no request. No input panics.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Malformed> {
        let found = Datagram::parse(frame, PORT, REQUEST)?;
        Ok(Self {
            source: found.source,
            source_port: found.source_port,
            destination: found.destination,
            opcode: found.opcode,
            id: found.id,
            opaque: found.opaque(),
            cas: found.cas(),
            key: found.key,
            value: found.value,
        })
    }

    /// Appends the request as a frame to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let extras = if self.opcode == Opcode::Set { SET_EXTRAS } else { 0 };
        let header = BinaryHeader {
            magic: REQUEST,
            opcode: self.opcode,
            status: 0,
            opaque: self.opaque,
            cas: self.cas,
        };
        let ports = (self.source_port, PORT);
        append(
            out,
            (self.source, self.destination),
            ports,
            self.id,
            &header,
            [&[0; SET_EXTRAS][..extras], self.key, self.value],
        );
    }

    /// The reply to this request, without a value.
    pub fn reply(&self, status: u16, cas: u64) -> Reply<'static> {
        Reply {
            source: self.destination,
            destination: self.source,
            destination_port: self.source_port,
            opcode: self.opcode,
            id: self.id,
            status,
            opaque: self.opaque,
            cas,
            value: &[],
        }
    }
}

impl<'a> Reply<'a> {
    /// Checks every header of a frame.
    ///
    /// # Errors
    ///
    /// The reason why it is no reply. No input panics.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Malformed> {
        let found = Datagram::parse(frame, CLIENT_PORT, REPLY)?;
        let header = found.header;
        Ok(Self {
            source: found.source,
            destination: found.destination,
            destination_port: CLIENT_PORT,
            opcode: found.opcode,
            id: found.id,
            status: u16::from_be_bytes([header[6], header[7]]),
            opaque: found.opaque(),
            cas: found.cas(),
            value: found.value,
        })
    }

    /// Appends the reply as a frame to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let has_flags = self.opcode == Opcode::Get && self.status == status::OK;
        let header = BinaryHeader {
            magic: REPLY,
            opcode: self.opcode,
            status: self.status,
            opaque: self.opaque,
            cas: self.cas,
        };
        let ports = (PORT, self.destination_port);
        append(
            out,
            (self.source, self.destination),
            ports,
            self.id,
            &header,
            [&[0; GET_EXTRAS][..if has_flags { GET_EXTRAS } else { 0 }], &[], self.value],
        );
    }
}

/// Fields of the binary header; `status` is 0 in requests.
struct BinaryHeader {
    magic: u8,
    opcode: Opcode,
    status: u16,
    opaque: u32,
    cas: u64,
}

/// Appends a frame whose body consists of extras, key and value.
fn append(
    out: &mut Vec<u8>,
    (source, destination): (Ip, Ip),
    ports: (u16, u16),
    id: u16,
    header: &BinaryHeader,
    [extras, key, value]: [&[u8]; 3],
) {
    let start = out.len();
    out.resize(start + KV_OFFSET, 0);
    out.extend(id.to_be_bytes());
    out.extend([0, 0, 0, 1, 0, 0]);
    let total = extras.len() + key.len() + value.len();
    out.extend([header.magic, header.opcode.code()]);
    out.extend((key.len() as u16).to_be_bytes());
    out.extend([extras.len() as u8, 0]);
    out.extend(header.status.to_be_bytes());
    out.extend((total as u32).to_be_bytes());
    out.extend(header.opaque.to_be_bytes());
    out.extend(header.cas.to_be_bytes());
    for part in [extras, key, value] {
        out.extend(part);
    }
    write_outer(&mut out[start..], source, destination, ports);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client_ip, server_ip, set_udp_checksum};

    fn request(opcode: Opcode, value: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        let request = Request {
            source: client_ip(3),
            source_port: CLIENT_PORT,
            destination: server_ip(1),
            opcode,
            id: 7,
            opaque: 0x0102_0304,
            cas: 0,
            key: b"key",
            value,
        };
        request.write(&mut frame);
        assert_eq!(Request::parse(&frame).as_ref(), Ok(&request));
        frame
    }

    #[test]
    fn requests_have_the_bytes_of_memcacheds_protocol() {
        let frame = request(Opcode::Set, b"value");
        let expected = [
            &[0, 7, 0, 0, 0, 1, 0, 0][..],
            &[0x80, 1, 0, 3, 8, 0, 0, 0, 0, 0, 0, 16, 1, 2, 3, 4],
            &[0; 8],
            &[0; 8],
            b"keyvalue",
        ];
        assert_eq!(frame[KV_OFFSET..], expected.concat());
        assert_eq!(frame[34..38], [0x9c, 0x40, 0x2b, 0xcb], "ports 40000 and 11211");
        request(Opcode::Get, b"");
        request(Opcode::Delete, b"");
    }

    #[test]
    fn conditional_request_has_its_version_in_the_header() {
        let frame = request(Opcode::Set, b"value");
        let request = Request { cas: 0x0102_0304_0506_0708, ..Request::parse(&frame).unwrap() };
        let mut conditional = Vec::new();
        request.write(&mut conditional);
        assert_eq!(Request::parse(&conditional), Ok(request));
        let cas = KV_OFFSET + 24..KV_OFFSET + 32;
        assert_eq!(conditional[cas.clone()], [1, 2, 3, 4, 5, 6, 7, 8]);
        conditional[cas].fill(0);
        set_udp_checksum(&mut conditional);
        assert_eq!(conditional, frame, "nothing else differs");
    }

    #[test]
    fn replies_are_read_as_written() {
        let frame = request(Opcode::Get, b"");
        let request = Request::parse(&frame).unwrap();
        let refusals = [(status::NOT_FOUND, &b"Not found"[..]), (status::EXISTS, b"Data exists")];
        for (status, value) in [&[(status::OK, &b"value"[..])][..], &refusals].concat() {
            let reply = Reply { value, ..request.reply(status, 9) };
            let mut frame = Vec::new();
            reply.write(&mut frame);
            assert_eq!(Reply::parse(&frame), Ok(reply));
            assert!(Request::parse(&frame).is_err());
        }
    }

    #[test]
    fn malformed_frames_are_refused() {
        let good = request(Opcode::Set, b"value");
        for length in 0..good.len() {
            assert!(Request::parse(&good[..length]).is_err(), "cut to {length} bytes");
        }
        let changed = |at: usize, byte: u8| {
            let mut frame = good.clone();
            frame[at] = byte;
            set_udp_checksum(&mut frame);
            Request::parse(&frame).map(drop)
        };
        let header = KV_OFFSET + 8;
        assert_eq!(changed(header, 0x81), Err(Malformed::Format(0x81)));
        assert_eq!(changed(header + 1, 0x55), Err(Malformed::Op(0x55)));
        assert_eq!(changed(header + 11, 15), Err(Malformed::Lengths));
        assert_eq!(changed(header + 4, 30), Err(Malformed::Lengths));
        assert_eq!(changed(KV_OFFSET + 5, 2), Err(Malformed::Format(0x80)), "two datagrams");
    }
}
