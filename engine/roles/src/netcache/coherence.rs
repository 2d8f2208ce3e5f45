//! Coherence of the switch's entries: INVALIDATE, UPDATE, and the records of the entries.

use netkv_wire::{
    CONTROLLER_IP, CacheMetadata, FrameView, Key, MAX_CACHED_VALUE, Message, Op, SERVICE_IP,
    Status, capacity, is_newer,
};

use super::control::ControlReply;
use super::state::{Cause, Control, Record, Step, Tag, Timer};
use super::{Server, mutation};
use crate::single_key::server::Write;
use crate::{Actions, Nanos, StoreResult};

impl Server {
    /// Applies a write, at once if it is fast (rule 1).
    pub(super) fn start_coherent(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        out: &mut Actions,
    ) {
        let fast = match (self.protocol.records.get(key), write.tag.metadata) {
            (None, None) => !write.tag.guarded || self.mutated.by(mutation::NoGuardTime),
            (Some(record), Some(metadata)) => {
                let same = metadata.generation == record.generation
                    || self.mutated.by(mutation::TrustOtherGenerations);
                same && self.is_unpushed(metadata.version, record.pushed)
            }
            (Some(_), None) => self.mutated.by(mutation::TrustWritesWithoutMetadata),
            (None, Some(_)) => self.mutated.by(mutation::TrustMetadataWithoutRecord),
        };
        if fast {
            let push = write.tag.metadata;
            self.store_coherent(now, key, write, push, out);
        } else {
            self.protocol.stats.slow_writes += 1;
            self.invalidate(now, key, Cause::Write(write), out);
        }
    }

    /// Whether the version of a write is newer than the last pushed version.
    fn is_unpushed(&self, version: u32, pushed: u32) -> bool {
        if self.mutated.by(mutation::PlainVersions) {
            return version > pushed;
        }
        is_newer(version, pushed) || self.mutated.by(mutation::TrustOldVersions)
    }

    /// Refreshes the entry after a frame with cache metadata (rule 4).
    pub(super) fn refresh(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let (Some(metadata), ref key) = (frame.cache_metadata(), frame.key()) else { return };
        if self.keys.contains_key(key) || self.mutated.by(mutation::NoRefresh) {
            return;
        }
        match self.protocol.records.get(key) {
            Some(record) if record.generation == metadata.generation => {
                if is_newer(metadata.version, record.pushed) {
                    self.fetch(key, metadata, None, out);
                }
            }
            Some(record) if is_newer(record.generation, metadata.generation) => {}
            _ => self.invalidate(now, key, Cause::Refresh, out),
        }
    }

    /// Makes the entry of `key` invalid, then goes on with `cause`.
    pub(super) fn invalidate(&mut self, now: Nanos, key: &Key, cause: Cause, out: &mut Actions) {
        let request = self.open(now, Op::Invalidate, key, 0);
        self.set_step(key, Step::Invalidating(cause));
        self.send_pending(request, out);
    }

    pub(super) fn on_invalidate_reply(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        let key = frame.key();
        if !self.answers(frame, Op::Invalidate) {
            return;
        }
        let metadata = frame.cache_metadata().filter(|_| frame.status() == Status::Ok);
        match (metadata, self.protocol.records.get(&key)) {
            (Some(metadata), Some(record))
                if record.generation == metadata.generation
                    && !is_newer(metadata.version, record.pushed) =>
            {
                // The switch counts backwards. Retry, rather than push a version twice.
                self.stats.unexpected += 1;
                return;
            }
            _ => {}
        }
        self.protocol.pending.close(frame.request());
        let Some(Step::Invalidating(cause)) = self.take_step(&key) else {
            unreachable!("an INVALIDATE is pending only while its key waits for it")
        };
        self.adopt(&key, metadata);
        match cause {
            Cause::Write(write) => self.store_coherent(now, &key, write, metadata, out),
            Cause::Refresh => {
                if let Some(metadata) = metadata {
                    self.fetch(&key, metadata, None, out);
                }
            }
            Cause::Install(control) => match metadata {
                Some(metadata) if metadata.generation == control.generation => {
                    self.fetch(&key, metadata, Some(control), out);
                }
                _ => {
                    self.end_install(Some(control), &key, Status::NotCached, out);
                    if let Some(metadata) = metadata {
                        self.fetch(&key, metadata, None, out);
                    }
                }
            },
        }
        self.advance(now, &key, out);
    }

    /// Updates the record from the switch's answer about its entry (rule 3). The version counts as
    /// pushed: it was assigned for a push, and no write carries it.
    fn adopt(&mut self, key: &Key, metadata: Option<CacheMetadata>) {
        let Some(metadata) = metadata else {
            self.forget(key);
            return;
        };
        let outgrown = match self.protocol.records.get(key) {
            Some(record) if record.generation == metadata.generation => record.outgrown,
            _ => {
                self.forget(key);
                None
            }
        };
        let record = Record { generation: metadata.generation, pushed: metadata.version, outgrown };
        self.protocol.records.insert(*key, record);
    }

    /// Drops the record of `key`, and a pending report about it to the controller.
    pub(super) fn forget(&mut self, key: &Key) {
        if let Some(Record { outgrown: Some(request), .. }) = self.protocol.records.remove(key) {
            self.protocol.pending.close(request);
        }
    }

    /// Reads the value of `key` from the store, to push it.
    fn fetch(
        &mut self,
        key: &Key,
        metadata: CacheMetadata,
        install: Option<Control>,
        out: &mut Actions,
    ) {
        self.get_for_step(key, Step::Fetching { metadata, install }, out);
    }

    /// The store has answered with the value to push.
    pub(super) fn on_fetched(
        &mut self,
        now: Nanos,
        key: &Key,
        metadata: CacheMetadata,
        install: Option<Control>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let value = match result {
            StoreResult::Failed => {
                // The record claims a push that will not happen. Without the record, the next
                // read or write with cache metadata starts again.
                self.protocol.records.remove(key);
                self.end_install(install, key, Status::Rejected, out);
                return;
            }
            StoreResult::Value(bytes, _) => {
                let mut value = self.take_buffer();
                value.extend_from_slice(bytes);
                Some(value)
            }
            _ => None,
        };
        self.push(now, key, metadata, value, install, out);
    }

    /// Hands a write to the store; its value is pushed afterwards if `push` is set.
    fn store_coherent(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        push: Option<CacheMetadata>,
        out: &mut Actions,
    ) {
        self.store(now, key, &write, out);
        self.set_step(key, Step::Storing { write, push });
    }

    /// The store has ended a write.
    pub(super) fn on_write_stored(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        push: Option<CacheMetadata>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let status = self.end_write(key, &write, result, out);
        match push {
            Some(_) if status != Status::Ok => {
                self.protocol.records.remove(key);
                self.recycle(write.value);
            }
            Some(metadata) => {
                let value = (write.op == Op::Put).then_some(write.value);
                self.push(now, key, metadata, value, None, out);
            }
            None => self.recycle(write.value),
        }
    }

    /// Sends the value of `key` to the switch if it fits; `None` is a deleted key (rule 2).
    pub(super) fn push(
        &mut self,
        now: Nanos,
        key: &Key,
        metadata: CacheMetadata,
        value: Option<Vec<u8>>,
        install: Option<Control>,
        out: &mut Actions,
    ) {
        let Some(record) =
            self.protocol.records.get_mut(key).filter(|it| it.generation == metadata.generation)
        else {
            // The controller has evicted the entry in the meantime.
            self.end_install(install, key, Status::NotCached, out);
            return;
        };
        record.pushed = metadata.version;
        let room = capacity(metadata.bitmap).min(MAX_CACHED_VALUE);
        match value {
            Some(value) if value.len() <= room || self.mutated.by(mutation::PushAnySize) => {
                self.protocol.stats.updates += 1;
                let request = self.open(now, Op::Update, key, metadata.generation);
                self.set_step(key, Step::Updating { metadata, value, install });
                self.send_pending(request, out);
            }
            unfit => {
                let status = if unfit.is_some() { Status::TooLarge } else { Status::NotFound };
                if install.is_some() {
                    self.end_install(install, key, status, out);
                } else {
                    self.report_outgrown(now, key, out);
                }
            }
        }
    }

    pub(super) fn on_update_reply(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let key = frame.key();
        if !self.answers(frame, Op::Update) {
            return;
        }
        self.protocol.pending.close(frame.request());
        let Some(Step::Updating { metadata, value, install }) = self.take_step(&key) else {
            unreachable!("an UPDATE is pending only while its key waits for it")
        };
        self.recycle(value);
        let not_cached = frame.status() == Status::NotCached;
        let same = |record: &Record| record.generation == metadata.generation;
        if not_cached && self.protocol.records.get(&key).is_some_and(same) {
            self.forget(&key);
        }
        // Stale: a newer write has passed the switch. That write, or a read with its metadata, will
        // arrive here.
        let status = if not_cached { Status::NotCached } else { Status::Ok };
        self.end_install(install, &key, status, out);
        self.advance(now, &key, out);
    }

    /// Reports to the controller that the value of `key` no longer fits its entry, or is deleted.
    fn report_outgrown(&mut self, now: Nanos, key: &Key, out: &mut Actions) {
        let Some(record) = self.protocol.records.get(key).copied() else { return };
        if record.outgrown.is_some() {
            return;
        }
        let request = self.open(now, Op::Outgrown, key, record.generation);
        self.protocol.records.insert(*key, Record { outgrown: Some(request), ..record });
        self.send_pending(request, out);
    }

    pub(super) fn on_outgrown_reply(&mut self, frame: &FrameView<'_>) {
        if !self.answers(frame, Op::Outgrown) {
            return;
        }
        self.protocol.pending.close(frame.request());
        if let Some(record) = self.protocol.records.get_mut(&frame.key()) {
            record.outgrown = None;
        }
    }

    /// Answers an INSTALL, if there is one, and releases the held writes of its key.
    pub(super) fn end_install(
        &mut self,
        install: Option<Control>,
        key: &Key,
        status: Status,
        out: &mut Actions,
    ) {
        if let Some(control) = install {
            self.release(key);
            self.answer_control(key, &control, ControlReply { status, length: 0 }, out);
        }
    }

    /// Whether `frame` answers a pending request with this operation.
    fn answers(&mut self, frame: &FrameView<'_>, op: Op) -> bool {
        let answers = self.protocol.pending.is_answer(frame, op, self.mutated);
        self.stats.unexpected += u64::from(!answers);
        answers
    }

    /// Opens a request, which is sent again until it is answered.
    fn open(&mut self, now: Nanos, op: Op, key: &Key, generation: u32) -> u32 {
        let (request, again) = self.protocol.pending.open(now, op, key, generation);
        self.timers.set(again, Timer::Retry(request));
        request
    }

    /// Sends a request again, if it is still pending.
    pub(super) fn send_again(&mut self, now: Nanos, request: u32, out: &mut Actions) {
        let Some(pending) = self.protocol.pending.get(request) else { return };
        let once = match pending.op {
            Op::Update => mutation::UpdateOnce,
            Op::Invalidate => mutation::InvalidateOnce,
            _ => mutation::OutgrownOnce,
        };
        if self.mutated.by(once) {
            return;
        }
        if let Some(again) = self.protocol.pending.again(now, request) {
            self.timers.set(again, Timer::Retry(request));
            self.stats.retries += 1;
            self.send_pending(request, out);
        }
    }

    fn send_pending(&self, request: u32, out: &mut Actions) {
        let requests = &self.protocol.pending;
        let Some(pending) = requests.get(request) else { return };
        let to = if pending.op == Op::Outgrown { CONTROLLER_IP } else { SERVICE_IP };
        let message = requests.message(request, pending, to);
        match pending.op {
            Op::Outgrown => {
                let generation = pending.generation;
                out.send(&message.with_cache_metadata(CacheMetadata {
                    generation,
                    version: 0,
                    bitmap: 0,
                }));
            }
            Op::Update => {
                let step = self.keys.get(&pending.key).and_then(|state| state.step.as_ref());
                let Some(Step::Updating { metadata, value, .. }) = step else { return };
                let message = message.with_cache_metadata(*metadata).with_value(value);
                out.send(&Message { room: capacity(metadata.bitmap), ..message });
            }
            _ => out.send(&message),
        }
    }
}
