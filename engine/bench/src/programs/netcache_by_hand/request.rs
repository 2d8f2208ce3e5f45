//! A received frame with a kv header, and the frames that are made of it.

use netkv_wire::{
    CACHE_METADATA_LEN, CacheMetadata, IPV4_LEN, KV_LEN, Key, Op, UDP_LEN, capacity, flags,
};

use crate::handwritten::layout::{
    DESTINATION, FLAGS, IPV4, KEY, KV_END, MAC_DESTINATION, MAC_SOURCE, OP, SOURCE, TOTAL_LENGTH,
    UDP, UDP_LENGTH,
};
use crate::handwritten::{Drop, Owner, add_u16, copy, set_checksum, u16_at, u32_at};

/// The first byte behind the cache metadata.
const METADATA_END: usize = KV_END + CACHE_METADATA_LEN;

/// A received frame with a kv header.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub frame: &'a [u8],
    /// The cache metadata with which it arrived.
    pub metadata: Option<CacheMetadata>,
    /// The chunks of an UPDATE.
    pub value: &'a [u8],
    /// What follows the parsed headers.
    pub rest: &'a [u8],
}

fn bytes_of(metadata: CacheMetadata) -> [u8; CACHE_METADATA_LEN] {
    let mut bytes = [0; CACHE_METADATA_LEN];
    bytes[..4].copy_from_slice(&metadata.generation.to_be_bytes());
    bytes[4..8].copy_from_slice(&metadata.version.to_be_bytes());
    bytes[8] = metadata.bitmap;
    bytes
}

fn length_of(metadata: Option<CacheMetadata>) -> usize {
    if metadata.is_some() { CACHE_METADATA_LEN } else { 0 }
}

impl<'a> Request<'a> {
    /// Parses what follows the kv header.
    #[inline]
    pub(super) fn parse(frame: &'a [u8]) -> Result<Self, Drop> {
        let op = frame[OP];
        if frame[FLAGS] & flags::CACHE_METADATA == 0 {
            let needs_metadata = op == Op::Update.code() || op == Op::Epoch.code();
            let request = Self { frame, metadata: None, value: &[], rest: &frame[KV_END..] };
            return if needs_metadata { Err(Drop::Malformed) } else { Ok(request) };
        }
        let rest = frame.get(METADATA_END..).ok_or(Drop::Malformed)?;
        let (generation, version) = (u32_at(frame, KV_END), u32_at(frame, KV_END + 4));
        let metadata = CacheMetadata { generation, version, bitmap: frame[KV_END + 8] };
        let chunks = if op == Op::Update.code() { capacity(metadata.bitmap) } else { 0 };
        let (value, rest) = rest.split_at_checked(chunks).ok_or(Drop::Malformed)?;
        if usize::from(u16_at(frame, UDP_LENGTH)) < UDP_LEN + KV_LEN + CACHE_METADATA_LEN + chunks {
            return Err(Drop::Malformed);
        }
        Ok(Self { frame, metadata: Some(metadata), value, rest })
    }

    #[inline]
    pub(super) fn key(&self) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&self.frame[KEY..KV_END]);
        key
    }

    /// Bytes of the frame that is forwarded with this metadata.
    #[inline]
    pub(super) fn forwarded_length(&self, metadata: Option<CacheMetadata>) -> usize {
        KV_END + length_of(metadata) + self.rest.len()
    }

    /// Writes the frame that is forwarded with this metadata, to a server if `owner` is one.
    #[inline]
    pub(super) fn write_forwarded(
        &self,
        sent: &mut [u8],
        owner: Option<&Owner>,
        metadata: Option<CacheMetadata>,
    ) {
        sent[..KV_END].copy_from_slice(&self.frame[..KV_END]);
        if let Some(owner) = owner {
            copy(sent, MAC_DESTINATION, &owner.mac);
            copy(sent, DESTINATION, &owner.ip);
        }
        if metadata.is_some() != self.metadata.is_some() {
            sent[FLAGS] ^= flags::CACHE_METADATA;
            let grown = (length_of(metadata) as u16).wrapping_sub(length_of(self.metadata) as u16);
            add_u16(sent, TOTAL_LENGTH, grown);
            add_u16(sent, UDP_LENGTH, grown);
        }
        self.finish(sent, metadata, 0);
    }

    /// Bytes of the reply with this metadata and a value of this many bytes.
    #[inline]
    pub(super) fn reply_length(&self, metadata: Option<CacheMetadata>, value: usize) -> usize {
        KV_END + length_of(metadata) + value + self.rest.len()
    }

    /// Writes the reply with this metadata, without the fields of the kv header that change and the
    /// value. The frame goes back to its sender.
    #[inline]
    pub(super) fn write_reply(
        &self,
        reply: &mut [u8],
        metadata: Option<CacheMetadata>,
        value: usize,
    ) {
        let frame = self.frame;
        reply[..KV_END].copy_from_slice(&frame[..KV_END]);
        copy(reply, MAC_DESTINATION, &frame[MAC_SOURCE..][..6]);
        copy(reply, MAC_SOURCE, &frame[MAC_DESTINATION..][..6]);
        copy(reply, SOURCE, &frame[DESTINATION..][..4]);
        copy(reply, DESTINATION, &frame[SOURCE..][..4]);
        let removed = length_of(self.metadata) + self.value.len();
        let udp_length =
            u16_at(frame, UDP_LENGTH) - removed as u16 + (length_of(metadata) + value) as u16;
        copy(reply, UDP_LENGTH, &udp_length.to_be_bytes());
        copy(reply, TOTAL_LENGTH, &(IPV4_LEN as u16 + udp_length).to_be_bytes());
        self.finish(reply, metadata, value);
    }

    /// Writes the metadata, what follows the value, and the checksum.
    #[inline]
    fn finish(&self, sent: &mut [u8], metadata: Option<CacheMetadata>, value: usize) {
        if let Some(metadata) = metadata {
            copy(sent, KV_END, &bytes_of(metadata));
        }
        copy(sent, KV_END + length_of(metadata) + value, self.rest);
        set_checksum(&mut sent[IPV4..UDP]);
    }
}
