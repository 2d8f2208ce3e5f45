//! What leaves: a request that is forwarded, or a reply of the switch.

use netkv_dataplane::Output;
use netkv_wire::{CacheMetadata, Op, Status, capacity, crc32};

use super::NetCache;
use super::cache::Cached;
use super::request::Request;
use crate::handwritten::layout::{DESTINATION, FLAGS, KV_END, LENGTH, OP, SOURCE, STATUS};
use crate::handwritten::{Drop, address, copy, send};

/// The fields of the kv header that a reply has of its own.
pub(super) struct ReplyFields {
    pub op: Op,
    pub status: Status,
    pub flags: u8,
    pub length: u16,
}

impl NetCache {
    /// Forwards a frame with this metadata, to the owner of its key if it is for the service.
    #[inline]
    pub(super) fn forward(
        &self,
        from: u16,
        request: &Request<'_>,
        metadata: Option<CacheMetadata>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        self.forward_by_hash(from, request, metadata, || crc32(&request.key()), out)
    }

    /// The same with the CRC-32 of the key.
    #[inline]
    pub(super) fn forward_by_hash(
        &self,
        from: u16,
        request: &Request<'_>,
        metadata: Option<CacheMetadata>,
        hash: impl FnOnce() -> u32,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let destination = address(request.frame, DESTINATION);
        let owner = self.forwarding.owner(destination, hash)?;
        let port = self.forwarding.port(&owner.map_or(destination, |owner| owner.ip))?;
        let length = request.forwarded_length(metadata);
        send(out, from, port, length, |sent| request.write_forwarded(sent, owner, metadata));
        Ok(())
    }

    /// Replies with this metadata, and with the value of a cached key.
    #[inline]
    pub(super) fn reply(
        &self,
        from: u16,
        request: &Request<'_>,
        fields: &ReplyFields,
        metadata: Option<CacheMetadata>,
        value: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let port = self.forwarding.port(&address(request.frame, SOURCE))?;
        let bytes = value.map_or(0, |cached| capacity(cached.bitmap));
        send(out, from, port, request.reply_length(metadata, bytes), |reply| {
            request.write_reply(reply, metadata, bytes);
            reply[OP] = fields.op.code();
            reply[FLAGS] = fields.flags;
            reply[STATUS] = fields.status.code();
            copy(reply, LENGTH, &fields.length.to_be_bytes());
            if let Some(cached) = value {
                self.cache.read_value(cached, &mut reply[KV_END..KV_END + bytes]);
            }
        });
        Ok(())
    }
}
