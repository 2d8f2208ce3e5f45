//! Checking and reading frames without copying them.

use std::fmt;

use crate::checksum::{is_ipv4_right, is_udp_right};
use crate::multiget::MULTIGET_PORT;
use crate::{
    CACHE_METADATA_LEN, CacheMetadata, ETHERNET_LEN, FORMAT, IPV4_LEN, Ip, KV_LEN, KV_OFFSET, Key,
    LOAD_LEN, Load, Message, NETKV_PORT, Op, SLOT_LEN, STAMP_LEN, Slot, Stamp, Status, UDP_LEN,
    bits, capacity, flags,
};

/// The reason why a frame is malformed. Nodes count and drop such frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The frame is shorter than its headers and value.
    CutShort {
        /// Bytes of the headers (and the value).
        needed: usize,
        /// Bytes of the frame.
        found: usize,
    },
    /// Not IPv4 without options or fragments, carrying UDP.
    NotUdp,
    /// The IPv4 checksum is wrong.
    Checksum,
    /// The UDP checksum is neither right nor 0 (none).
    UdpChecksum,
    /// The length fields of IPv4 and UDP contradict each other.
    Lengths,
    /// Not the UDP port of netkv.
    Port(u16),
    /// Another version of the layout.
    Format(u8),
    /// No such operation.
    Op(u8),
    /// No such status.
    Status(u8),
    /// An UPDATE without cache metadata, or whose value does not match its bitmap.
    Update,
    /// A message about an entry without a version stamp.
    Unstamped,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutShort { needed, found } => {
                write!(f, "the frame has {found} bytes, but its headers say {needed}")
            }
            Self::NotUdp => write!(f, "the frame is not UDP over plain IPv4 (no options)"),
            Self::Checksum => write!(f, "the IPv4 header checksum is wrong"),
            Self::UdpChecksum => write!(f, "the UDP checksum is wrong"),
            Self::Lengths => write!(f, "the lengths in the IPv4 and UDP headers do not agree"),
            Self::Port(port) => {
                write!(
                    f,
                    "the frame goes to UDP port {port}; netkv listens on {NETKV_PORT}, and for \
                     multigets on {MULTIGET_PORT}"
                )
            }
            Self::Format(found) => {
                write!(f, "layout version {found} is unknown; this is version {FORMAT}")
            }
            Self::Op(code) => write!(f, "there is no operation 0x{code:02x}"),
            Self::Status(code) => write!(f, "there is no status {code}"),
            Self::Update => {
                write!(f, "an update must have cache metadata, and its value must fill its bitmap")
            }
            Self::Unstamped => write!(f, "a message about an entry must have a version stamp"),
        }
    }
}

impl std::error::Error for Malformed {}

/// A checked frame.
#[derive(Debug, Clone, Copy)]
pub struct FrameView<'a> {
    /// From the `kv` header to the end of the UDP payload.
    kv: &'a [u8],
    source: Ip,
    destination: Ip,
    op: Op,
    status: Status,
    /// Offset of the version stamp in `kv`, if there is one.
    stamp: Option<usize>,
    /// Offset of the load in `kv`, if there is one.
    load: Option<usize>,
    /// Start and end of the value within `kv`.
    value: (usize, usize),
}

impl<'a> FrameView<'a> {
    /// Checks every header of `frame`. Ethernet padding after the IP packet is ignored.
    ///
    /// # Errors
    ///
    /// The reason why the frame is malformed. No input panics.
    // Inlined, so that callers have the fields in registers: they are of different sizes, and a
    // copy of the whole view would wait for the store of each.
    #[inline(always)]
    pub fn parse(frame: &'a [u8]) -> Result<Self, Malformed> {
        let found = frame.len();
        let cut_short = |needed| Malformed::CutShort { needed, found };
        if found < KV_OFFSET + KV_LEN {
            return Err(cut_short(KV_OFFSET + KV_LEN));
        }
        let (source, destination, end) = check_outer(frame, NETKV_PORT)?;
        let kv = &frame[KV_OFFSET..end];
        if kv.len() < KV_LEN {
            return Err(Malformed::CutShort { needed: KV_OFFSET + KV_LEN, found: end });
        }
        if kv[0] != FORMAT {
            return Err(Malformed::Format(kv[0]));
        }
        let op = Op::from_code(kv[1]).ok_or(Malformed::Op(kv[1]))?;
        let status = Status::from_code(kv[3]).ok_or(Malformed::Status(kv[3]))?;
        let has_metadata = kv[2] & flags::CACHE_METADATA != 0;
        let stamped = kv[2] & flags::STAMPED != 0;
        if op.has_slot() && !stamped {
            return Err(Malformed::Unstamped);
        }
        let stamp_start = KV_LEN + if has_metadata { CACHE_METADATA_LEN } else { 0 };
        let stamp = stamped.then_some(stamp_start);
        let mut value_start = stamp_start;
        if stamped {
            value_start += STAMP_LEN + if op.has_slot() { SLOT_LEN } else { 0 };
        }
        let stamp_end = value_start;
        let load = (kv[2] & flags::LOAD != 0).then_some(value_start);
        if load.is_some() {
            value_start += LOAD_LEN;
        }
        if kv.len() < value_start {
            return Err(Malformed::CutShort { needed: KV_OFFSET + value_start, found: end });
        }
        let embedded = op == Op::Get && stamped && kv[stamp_end - 1] & bits::EMBEDDED != 0;
        let length = usize::from(u16::from_be_bytes([kv[4], kv[5]]));
        let value_len = if op.carries_value() || embedded { length } else { 0 };
        let value = (value_start, value_start + value_len);
        if kv.len() < value.1 {
            return Err(Malformed::CutShort { needed: KV_OFFSET + value.1, found: end });
        }
        if op == Op::Update {
            let room = if has_metadata { capacity(kv[KV_LEN + CACHE_METADATA_LEN - 1]) } else { 0 };
            if !has_metadata || length > room || kv.len() < value_start + room {
                return Err(Malformed::Update);
            }
        }
        Ok(Self { kv, source, destination, op, status, stamp, load, value })
    }

    /// Source address.
    pub fn source(&self) -> Ip {
        self.source
    }

    /// Destination address.
    pub fn destination(&self) -> Ip {
        self.destination
    }

    /// Operation.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Result of the request.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether a switch answered.
    pub fn cache_hit(&self) -> bool {
        self.kv[2] & flags::CACHE_HIT != 0
    }

    /// Whether the frame is about the copy in the upper layer.
    pub fn upper(&self) -> bool {
        self.kv[2] & flags::UPPER != 0
    }

    /// The `length` field: true length of the value in bytes.
    pub fn length(&self) -> u16 {
        u16::from_be_bytes([self.kv[4], self.kv[5]])
    }

    /// Sender of the request.
    pub fn sender(&self) -> u16 {
        u16::from_be_bytes([self.kv[6], self.kv[7]])
    }

    /// The sender's request number.
    pub fn request(&self) -> u32 {
        u32::from_be_bytes([self.kv[8], self.kv[9], self.kv[10], self.kv[11]])
    }

    /// The key.
    pub fn key(&self) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&self.kv[12..28]);
        key
    }

    /// The cache metadata, if there is any.
    pub fn cache_metadata(&self) -> Option<CacheMetadata> {
        if self.kv[2] & flags::CACHE_METADATA == 0 {
            return None;
        }
        let word = |at: usize| {
            u32::from_be_bytes([self.kv[at], self.kv[at + 1], self.kv[at + 2], self.kv[at + 3]])
        };
        Some(CacheMetadata { generation: word(28), version: word(32), bitmap: self.kv[36] })
    }

    /// The version stamp, if there is one.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp.map(|at| Stamp::read(&self.kv[at..at + STAMP_LEN]))
    }

    /// The slot, if the operation has one.
    pub fn slot(&self) -> Option<Slot> {
        let at = self.stamp.filter(|_| self.op.has_slot())? + STAMP_LEN;
        Some(Slot::read(&self.kv[at..at + SLOT_LEN]))
    }

    /// The load of the switch that answered, if the frame has it.
    pub fn load(&self) -> Option<Load> {
        self.load.map(|at| Load::read(&self.kv[at..at + LOAD_LEN]))
    }

    /// The value without padding; empty if the operation carries none.
    pub fn value(&self) -> &'a [u8] {
        &self.kv[self.value.0..self.value.1]
    }

    /// The reply to this request: addresses swapped; sender, request and key echoed; no cache
    /// metadata and no version stamp.
    pub fn reply(&self, status: Status) -> Message<'static> {
        Message::request(
            self.destination,
            self.source,
            self.op.reply(),
            self.sender(),
            self.request(),
            self.key(),
        )
        .with_status(status)
    }
}

/// Sender and number of the request of a frame, without a check of its headers: for hints only.
#[inline]
pub fn peek_request(frame: &[u8]) -> Option<(u16, u32)> {
    let (sender, rest) = frame.get(KV_OFFSET + 6..)?.split_first_chunk()?;
    let (request, _) = rest.split_first_chunk()?;
    Some((u16::from_be_bytes(*sender), u32::from_be_bytes(*request)))
}

/// Checks Ethernet, IPv4 and UDP of at least 42 bytes, with both checksums. Returns source,
/// destination and the end of the UDP payload.
///
/// The MAC addresses are not checked: IPv4 addresses say who the ends are, and checksums cover
/// them.
#[inline]
pub(crate) fn check_outer(frame: &[u8], own_port: u16) -> Result<(Ip, Ip, usize), Malformed> {
    let Some((ip, rest)) = frame[ETHERNET_LEN..].split_first_chunk::<IPV4_LEN>() else {
        return Err(Malformed::CutShort { needed: KV_OFFSET, found: frame.len() });
    };
    let fragmented = ip[6] & 0x3f != 0 || ip[7] != 0;
    if frame[12..14] != [0x08, 0x00] || ip[0] != 0x45 || ip[9] != 17 || fragmented {
        return Err(Malformed::NotUdp);
    }
    if !is_ipv4_right(ip) {
        return Err(Malformed::Checksum);
    }
    let udp = &rest[..UDP_LEN];
    let port = u16::from_be_bytes([udp[2], udp[3]]);
    if port != own_port {
        return Err(Malformed::Port(port));
    }
    let ip_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let udp_len = usize::from(u16::from_be_bytes([udp[4], udp[5]]));
    if ip_len != IPV4_LEN + udp_len || udp_len < UDP_LEN {
        return Err(Malformed::Lengths);
    }
    let end = ETHERNET_LEN + ip_len;
    if frame.len() < end {
        return Err(Malformed::CutShort { needed: end, found: frame.len() });
    }
    if !is_udp_right(frame, end) {
        return Err(Malformed::UdpChecksum);
    }
    let address = |at: usize| [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
    Ok((address(12), address(16), end))
}
