//! The program `netcache.p4`, written in Rust.

mod cache;
mod hot_keys;
mod request;

use netkv_dataplane::Output;
use netkv_wire::{CPU_PORT, CacheMetadata, Key, Op, Status, capacity, crc32, flags};

pub(super) use cache::Cached;

use self::cache::Cache;
use self::hot_keys::HotKeys;
use self::request::Request;
use crate::handwritten::layout::{DESTINATION, FLAGS, KV_END, LENGTH, OP, SOURCE, STATUS};
use crate::handwritten::{
    Counts, DROP_REASONS, Drop, Forwarding, GROUP, Pipeline, Sampler, address, copy, enter, has_kv,
    keys_of, send, u16_at,
};

const GET: u8 = Op::Get.code();
const PUT: u8 = Op::Put.code();
const DELETE: u8 = Op::Delete.code();
const UPDATE: u8 = Op::Update.code();
const INVALIDATE: u8 = Op::Invalidate.code();
const STATS: u8 = Op::Stats.code();
const EPOCH: u8 = Op::Epoch.code();

/// Upper halves of the ops between controller and server, and of those about statistics.
const CONTROLLER: u8 = 2;
const STATISTICS: u8 = 3;

/// The fields of the kv header that a reply has of its own.
struct ReplyFields {
    op: Op,
    status: Status,
    flags: u8,
    length: u16,
}

/// The program, with its tables and state.
pub(super) struct NetCache {
    forwarding: Forwarding,
    sampler: Sampler,
    cache: Cache,
    hot_keys: HotKeys,
    /// The statistics epoch.
    epoch: u16,
    drops: [u64; DROP_REASONS],
}

impl NetCache {
    /// A pipeline without entries. It counts `sample_below` of 65,536 reads, and reports uncached
    /// keys with at least `hot_threshold` counted reads.
    pub(super) fn new(forwarding: Forwarding, sample_below: u32, hot_threshold: u16) -> Self {
        Self {
            forwarding,
            sampler: Sampler { below: sample_below },
            cache: Cache::new(),
            hot_keys: HotKeys::new(hot_threshold),
            epoch: 0,
            drops: [0; DROP_REASONS],
        }
    }

    /// Writes the lookup entry of a key.
    pub(super) fn insert(&mut self, key: Key, cached: Cached) {
        self.cache.insert(key, cached);
    }

    /// Processes a frame whose key, if it has one, has this lookup entry.
    #[inline]
    fn process(
        &mut self,
        from: u16,
        frame: &[u8],
        cached: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let Some(frame) = enter(from, frame, out)? else { return Ok(()) };
        if !has_kv(frame)? {
            return self.forwarding.route(from, frame, out);
        }
        let request = Request::parse(frame)?;
        let op = frame[OP];
        let is_request = op & 1 == 0;
        if is_request && op >> 4 == STATISTICS && from != CPU_PORT {
            return Err(Drop::Forbidden);
        }
        if !is_request || op >> 4 == CONTROLLER {
            return self.forward(from, &request, request.metadata, out);
        }
        match op {
            GET => self.read(from, &request, cached, out),
            PUT | DELETE => {
                let metadata = cached.map(|cached| self.cache.invalidate(cached));
                self.forward(from, &request, metadata, out)
            }
            UPDATE => self.update(from, &request, cached, out),
            INVALIDATE => {
                let metadata = cached.map(|cached| self.cache.invalidate(cached));
                self.reply_with_metadata(from, &request, Op::InvalidateReply, metadata, out)
            }
            STATS => {
                let metadata = cached.map(|cached| CacheMetadata {
                    generation: cached.generation,
                    version: self.cache.hits(cached, self.epoch).into(),
                    bitmap: 0,
                });
                self.reply_with_metadata(from, &request, Op::StatsReply, metadata, out)
            }
            EPOCH => self.begin_epoch(from, &request, out),
            _ => {
                let metadata = cached.map(|cached| self.cache.metadata(cached));
                self.forward(from, &request, metadata, out)
            }
        }
    }

    #[inline]
    fn read(
        &mut self,
        from: u16,
        request: &Request<'_>,
        cached: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let is_sampled = self.sampler.takes(request.frame);
        if let Some(cached) = cached {
            if is_sampled {
                self.cache.count_hit(cached, self.epoch);
            }
            return match self.cache.valid_length(cached) {
                Some(length) => self.reply_with_value(from, request, cached, length, out),
                None => self.forward(from, request, Some(self.cache.metadata(cached)), out),
            };
        }
        let key = request.key();
        let hash = crc32(&key);
        if is_sampled {
            self.hot_keys.count(&key, hash, self.epoch);
        }
        self.forward_by_hash(from, request, None, || hash, out)
    }

    fn update(
        &mut self,
        from: u16,
        request: &Request<'_>,
        cached: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let metadata = request.metadata;
        let current = cached.map(|cached| self.cache.metadata(cached));
        let is_same_entry = |it: &CacheMetadata| {
            metadata.is_some_and(|its| (its.generation, its.bitmap) == (it.generation, it.bitmap))
        };
        let status = match (cached, current.filter(is_same_entry)) {
            (Some(cached), Some(_)) if metadata == current => {
                self.cache.update(cached, u16_at(request.frame, LENGTH), request.value);
                Status::Ok
            }
            (_, Some(_)) => Status::Stale,
            (_, None) => Status::NotCached,
        };
        let fields =
            ReplyFields { op: Op::UpdateReply, status, flags: flags::CACHE_METADATA, length: 0 };
        self.reply(from, request, &fields, metadata, None, out)
    }

    /// The epoch only grows: a late copy of an older message does not restore old counts.
    fn begin_epoch(
        &mut self,
        from: u16,
        request: &Request<'_>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let next = request.metadata.map_or(0, |metadata| metadata.version as u16);
        let ahead = next.wrapping_sub(self.epoch);
        if self.epoch == 0 || (1..0x8000).contains(&ahead) {
            self.epoch = next;
        }
        let frame = request.frame;
        let fields = ReplyFields {
            op: Op::EpochReply,
            status: Status::Ok,
            flags: frame[FLAGS],
            length: u16_at(frame, LENGTH),
        };
        self.reply(from, request, &fields, request.metadata, None, out)
    }

    fn reply_with_metadata(
        &self,
        from: u16,
        request: &Request<'_>,
        op: Op,
        metadata: Option<CacheMetadata>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let (status, flags) = match metadata {
            Some(_) => (Status::Ok, flags::CACHE_METADATA),
            None => (Status::NotCached, 0),
        };
        let fields = ReplyFields { op, status, flags, length: 0 };
        self.reply(from, request, &fields, metadata, None, out)
    }

    #[inline]
    fn reply_with_value(
        &self,
        from: u16,
        request: &Request<'_>,
        cached: Cached,
        length: u16,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let flags = flags::CACHE_HIT;
        let fields = ReplyFields { op: Op::GetReply, status: Status::Ok, flags, length };
        self.reply(from, request, &fields, None, Some(cached), out)
    }

    /// Forwards a frame with this metadata, to the owner of its key if it is for the service.
    #[inline]
    fn forward(
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
    fn forward_by_hash(
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
    fn reply(
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

impl Pipeline for NetCache {
    fn process_batch(&mut self, port: u16, frames: &[&[u8]], out: &mut Output) {
        for group in frames.chunks(GROUP) {
            let mut reads = [false; GROUP];
            for (reads, frame) in reads.iter_mut().zip(group) {
                *reads = frame.get(OP) == Some(&GET);
            }
            let all = self.cache.lookup(&keys_of(port, group), reads);
            for (frame, cached) in group.iter().zip(all) {
                if let Err(reason) = self.process(port, frame, cached, out) {
                    self.drops[reason as usize] += 1;
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        let mut counts: Counts = vec![
            ("NetkvIngress.drop.reasons", self.drops.to_vec()),
            ("NetkvIngress.epoch.current", vec![self.epoch.into()]),
        ];
        counts.extend(self.cache.counts());
        counts.extend(self.hot_keys.counts());
        counts
    }

    fn take_digests(&mut self) -> Vec<Vec<u128>> {
        self.hot_keys.take_reports()
    }
}
