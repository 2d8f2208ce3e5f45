//! Writing frames.

use crate::checksum::{fold, set_udp_checksum};
use crate::{
    CACHE_METADATA_LEN, CacheMetadata, ETHERNET_LEN, FORMAT, IPV4_LEN, Ip, KV_LEN, KV_OFFSET, Key,
    LOAD_LEN, Load, NETKV_PORT, Op, SLOT_LEN, STAMP_LEN, Slot, Stamp, Status, flags, mac_of,
    padded,
};

/// The fields of a frame. Build one with [`Message::request`] or
/// [`FrameView::reply`](crate::FrameView::reply), then change single fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Source address; the source MAC follows from it.
    pub source: Ip,
    /// Destination address; the destination MAC follows from it.
    pub destination: Ip,
    /// Operation.
    pub op: Op,
    /// Whether a switch answered (`CACHE_HIT`). The flag `CACHE_METADATA` follows from
    /// `cache_metadata`.
    pub cache_hit: bool,
    /// Whether the frame is about the copy in the upper layer (`UPPER`).
    pub upper: bool,
    /// The version stamp, if there is one. The flag `STAMPED` follows from it.
    pub stamp: Option<Stamp>,
    /// The load of the switch that answered, if there is one. The flag `LOAD` follows from it.
    pub load: Option<Load>,
    /// The slot of a message about an entry; such a message needs a version stamp, too.
    pub slot: Slot,
    /// Result of the request; `Ok` in requests.
    pub status: Status,
    /// True length of the value in bytes. Differs from `value.len()` in an ADMIT reply only.
    pub length: u16,
    /// Sender of the request.
    pub sender: u16,
    /// The sender's request number.
    pub request: u32,
    /// The key.
    pub key: Key,
    /// The cache metadata, if there is any.
    pub cache_metadata: Option<CacheMetadata>,
    /// Value without padding.
    pub value: &'a [u8],
    /// Minimum length of the value with padding: an UPDATE fills its whole bitmap.
    pub room: usize,
}

impl<'a> Message<'a> {
    /// A request without value, cache metadata and version stamp.
    pub const fn request(
        source: Ip,
        destination: Ip,
        op: Op,
        sender: u16,
        request: u32,
        key: Key,
    ) -> Self {
        Self {
            source,
            destination,
            op,
            cache_hit: false,
            upper: false,
            stamp: None,
            load: None,
            slot: Slot { entry: 0, number: 0 },
            status: Status::Ok,
            length: 0,
            sender,
            request,
            key,
            cache_metadata: None,
            value: &[],
            room: 0,
        }
    }

    /// Sets the value (at most 65,535 bytes) and its length.
    pub const fn with_value(mut self, value: &'a [u8]) -> Self {
        self.value = value;
        self.length = value.len() as u16;
        self
    }

    /// Sets the cache metadata.
    pub const fn with_cache_metadata(mut self, metadata: CacheMetadata) -> Self {
        self.cache_metadata = Some(metadata);
        self
    }

    /// Sets the version stamp.
    pub const fn with_stamp(mut self, stamp: Stamp) -> Self {
        self.stamp = Some(stamp);
        self
    }

    /// Sets the slot.
    pub const fn with_slot(mut self, slot: Slot) -> Self {
        self.slot = slot;
        self
    }

    /// Sets the status.
    pub const fn with_status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }
}

/// Appends `message` as a frame to `out` and returns its length.
pub fn write_frame(out: &mut Vec<u8>, message: &Message<'_>) -> usize {
    let metadata_len = if message.cache_metadata.is_some() { CACHE_METADATA_LEN } else { 0 };
    let has_slot = message.op.has_slot();
    let stamp_len = match (message.stamp, has_slot) {
        (None, _) => 0,
        (Some(_), false) => STAMP_LEN,
        (Some(_), true) => STAMP_LEN + SLOT_LEN,
    };
    let value_len = padded(message.value.len().max(message.room));
    let start = out.len();
    let load_len = if message.load.is_some() { LOAD_LEN } else { 0 };
    out.resize(start + KV_OFFSET + KV_LEN + metadata_len + stamp_len + load_len + value_len, 0);
    let frame = &mut out[start..];

    let kv = &mut frame[KV_OFFSET..];
    kv[0] = FORMAT;
    kv[1] = message.op.code();
    kv[2] = if message.cache_metadata.is_some() { flags::CACHE_METADATA } else { 0 }
        | if message.cache_hit { flags::CACHE_HIT } else { 0 }
        | if message.stamp.is_some() { flags::STAMPED } else { 0 }
        | if message.upper { flags::UPPER } else { 0 }
        | if message.load.is_some() { flags::LOAD } else { 0 };
    kv[3] = message.status.code();
    kv[4..6].copy_from_slice(&message.length.to_be_bytes());
    kv[6..8].copy_from_slice(&message.sender.to_be_bytes());
    kv[8..12].copy_from_slice(&message.request.to_be_bytes());
    kv[12..28].copy_from_slice(&message.key);
    if let Some(metadata) = message.cache_metadata {
        kv[28..32].copy_from_slice(&metadata.generation.to_be_bytes());
        kv[32..36].copy_from_slice(&metadata.version.to_be_bytes());
        kv[36] = metadata.bitmap;
    }
    if let Some(stamp) = message.stamp {
        let at = KV_LEN + metadata_len;
        stamp.write(&mut kv[at..at + STAMP_LEN]);
        if has_slot {
            message.slot.write(&mut kv[at + STAMP_LEN..at + STAMP_LEN + SLOT_LEN]);
        }
    }
    if let Some(load) = message.load {
        let at = KV_LEN + metadata_len + stamp_len;
        load.write(&mut kv[at..at + LOAD_LEN]);
    }
    let value = &mut kv[KV_LEN + metadata_len + stamp_len + load_len..];
    value[..message.value.len()].copy_from_slice(message.value);
    write_outer(frame, message.source, message.destination, (NETKV_PORT, NETKV_PORT));
    out.len() - start
}

/// Writes Ethernet, IPv4 and UDP into the first 42 bytes of a frame, which must be 0, with both
/// checksums. The rest of the frame must be complete. `ports`: of source and destination.
pub fn write_outer(frame: &mut [u8], source: Ip, destination: Ip, ports: (u16, u16)) {
    let ip_len = frame.len() - ETHERNET_LEN;
    frame[0..6].copy_from_slice(&mac_of(destination));
    frame[6..12].copy_from_slice(&mac_of(source));
    frame[12..14].copy_from_slice(&[0x08, 0x00]);

    // Whole words: the sum could not read bytes that were just written one by one without waiting.
    let words = [
        0x4500_0000 | u32::from(ip_len as u16),
        0,
        (64 << 24) | (17 << 16),
        u32::from_be_bytes(source),
        u32::from_be_bytes(destination),
    ];
    let sum = words.iter().map(|word| u64::from(*word)).sum();
    let checksum = u32::from(!fold(sum));
    let ip = &mut frame[ETHERNET_LEN..ETHERNET_LEN + IPV4_LEN];
    ip[0..4].copy_from_slice(&words[0].to_be_bytes());
    ip[8..12].copy_from_slice(&(words[2] | checksum).to_be_bytes());
    ip[12..16].copy_from_slice(&source);
    ip[16..20].copy_from_slice(&destination);

    let udp = &mut frame[ETHERNET_LEN + IPV4_LEN..KV_OFFSET];
    udp[0..2].copy_from_slice(&ports.0.to_be_bytes());
    udp[2..4].copy_from_slice(&ports.1.to_be_bytes());
    udp[4..6].copy_from_slice(&((ip_len - IPV4_LEN) as u16).to_be_bytes());
    set_udp_checksum(frame);
}
