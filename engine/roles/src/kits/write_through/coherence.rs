//! Coherence of the switches' entries: INVALIDATE, UPDATE, and the records of the entries.

use netkv_wire::{CacheMetadata, FrameView, Key, MAX_CACHED_VALUE, Op, Status, capacity, is_newer};

use super::layers::{Layer, PerLayer};
use super::server::{Layers, Server};
use super::state::{Cause, Control, ControlReply, Pushes, Record, Requests, Step, Tag};
use crate::kits::single_key::server::Write;
use crate::{Actions, Nanos, StoreResult};

/// How a write finds the entry of a layer.
enum Found {
    /// It is invalid, with this version, or there is none.
    Invalid(Option<CacheMetadata>),
    /// It may be valid.
    Unknown,
}

impl<L: Layers> Server<L> {
    /// Applies a write, at once if it is fast (rule 1).
    pub(super) fn start_coherent(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        out: &mut Actions,
    ) {
        let mut pushes = Pushes::default();
        let mut slow = PerLayer::<bool>::default();
        for &layer in L::LAYERS {
            let found = match layer {
                Layer::Lower => self.find_lower(key, &write.tag),
                Layer::Upper => self.find_upper(key),
            };
            match found {
                Found::Invalid(push) => pushes[layer] = push,
                Found::Unknown => slow[layer] = true,
            }
        }
        if slow[Layer::Lower] || slow[Layer::Upper] {
            self.protocol.stats.slow_writes += 1;
            self.invalidate(now, key, slow, pushes, Cause::Write(write), out);
        } else {
            self.store_coherent(now, key, write, pushes, out);
        }
    }

    /// The entry of the switch that the write has passed.
    fn find_lower(&self, key: &Key, tag: &Tag) -> Found {
        let fast = match (self.protocol.records[Layer::Lower].get(key), tag.metadata) {
            (None, None) => !tag.guarded,
            (Some(record), Some(metadata)) => {
                // No version from before the last pushed one.
                metadata.generation == record.generation
                    && is_newer(metadata.version, record.pushed)
            }
            (Some(_), None) => false,
            (None, Some(_)) => false,
        };
        if fast { Found::Invalid(tag.metadata) } else { Found::Unknown }
    }

    /// The entry of the upper layer. No write need have passed it (rule 8).
    fn find_upper(&self, key: &Key) -> Found {
        let cached = self.protocol.records[Layer::Upper].contains_key(key);
        if cached || !self.protocol.layers.knows_upper() {
            Found::Unknown
        } else {
            Found::Invalid(None)
        }
    }

    /// Refreshes the entry after a frame with cache metadata (rule 4).
    pub(super) fn refresh(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let (Some(metadata), ref key) = (frame.cache_metadata(), frame.key()) else { return };
        let layer = Layer::of(frame);
        let served = L::LAYERS.contains(&layer);
        if !served || self.keys.contains_key(key) {
            return;
        }
        match self.protocol.records[layer].get(key) {
            Some(record) if record.generation == metadata.generation => {
                if is_newer(metadata.version, record.pushed) {
                    self.fetch(key, PerLayer::only(layer, Some(metadata)), None, out);
                }
            }
            Some(record) if is_newer(record.generation, metadata.generation) => {}
            _ => self.invalidate_one(now, key, layer, Cause::Refresh, out),
        }
    }

    /// Makes the entry of `key` in one layer invalid, then goes on with `cause`.
    pub(super) fn invalidate_one(
        &mut self,
        now: Nanos,
        key: &Key,
        layer: Layer,
        cause: Cause,
        out: &mut Actions,
    ) {
        let layers = PerLayer::only(layer, true);
        self.invalidate(now, key, layers, Pushes::default(), cause, out);
    }

    /// Makes the entries of `key` in these layers invalid, then goes on with `cause`.
    fn invalidate(
        &mut self,
        now: Nanos,
        key: &Key,
        layers: PerLayer<bool>,
        pushes: Pushes,
        cause: Cause,
        out: &mut Actions,
    ) {
        let mut pending = Requests::default();
        for layer in Layer::ALL.into_iter().filter(|&layer| layers[layer]) {
            pending[layer] = Some(self.open(now, Op::Invalidate, layer, key, 0));
        }
        self.set_step(key, Step::Invalidating { cause, pending, pushes });
        self.send_all(pending, out);
    }

    pub(super) fn on_invalidate_reply(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        let key = frame.key();
        let Some(layer) = self.answered(now, frame, Op::Invalidate) else { return };
        let metadata = frame.cache_metadata().filter(|_| frame.status() == Status::Ok);
        match (metadata, self.protocol.records[layer].get(&key)) {
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
        self.end_invalidate(now, &key, layer, metadata, out);
    }

    /// The entry of a layer is invalid, with this version, or there is none.
    pub(crate) fn end_invalidate(
        &mut self,
        now: Nanos,
        key: &Key,
        layer: Layer,
        metadata: Option<CacheMetadata>,
        out: &mut Actions,
    ) {
        let Some(Step::Invalidating { cause, mut pending, mut pushes }) = self.take_step(key)
        else {
            unreachable!("an INVALIDATE is pending only while its key waits for it")
        };
        if let Some(request) = pending[layer].take() {
            self.protocol.pending.close(request);
        }
        pushes[layer] = metadata;
        self.adopt(key, layer, metadata);
        if !pending.is_none() {
            self.set_step(key, Step::Invalidating { cause, pending, pushes });
            return;
        }
        match cause {
            Cause::Write(write) => self.store_coherent(now, key, write, pushes, out),
            Cause::Refresh if pushes.is_none() => {}
            Cause::Refresh => self.fetch(key, pushes, None, out),
            Cause::Install(control) => match pushes[control.layer] {
                Some(metadata) if metadata.generation == control.generation => {
                    self.fetch(key, pushes, Some(control), out);
                }
                found => {
                    self.end_install(Some(control), key, Status::NotCached, out);
                    if found.is_some() {
                        self.fetch(key, pushes, None, out);
                    }
                }
            },
        }
        self.advance(now, key, out);
    }

    /// Updates the record from the switch's answer about its entry (rule 3). The version counts as
    /// pushed: it was assigned for a push, and no write carries it.
    fn adopt(&mut self, key: &Key, layer: Layer, metadata: Option<CacheMetadata>) {
        let Some(metadata) = metadata else {
            self.forget(key, layer);
            return;
        };
        let outgrown = match self.protocol.records[layer].get(key) {
            Some(record) if record.generation == metadata.generation => record.outgrown,
            _ => {
                self.forget(key, layer);
                None
            }
        };
        let record = Record { generation: metadata.generation, pushed: metadata.version, outgrown };
        self.protocol.records[layer].insert(*key, record);
    }

    /// Drops the record of `key`, and a pending report about it to the controller.
    pub(crate) fn forget(&mut self, key: &Key, layer: Layer) {
        let record = self.protocol.records[layer].remove(key);
        if let Some(Record { outgrown: Some(request), .. }) = record {
            self.protocol.pending.close(request);
        }
    }

    /// Reads the value of `key` from the store, to push it.
    fn fetch(&mut self, key: &Key, pushes: Pushes, install: Option<Control>, out: &mut Actions) {
        self.get_for_step(key, Step::Fetching { pushes, install }, out);
    }

    /// The store has answered with the value to push.
    pub(super) fn on_fetched(
        &mut self,
        now: Nanos,
        key: &Key,
        pushes: Pushes,
        install: Option<Control>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let value = match result {
            StoreResult::Failed => {
                self.forget_pushes(key, pushes);
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
        self.push(now, key, pushes, value, install, out);
    }

    /// The records claim pushes that will not happen. Without them, the next read or write with
    /// cache metadata starts again.
    fn forget_pushes(&mut self, key: &Key, pushes: Pushes) {
        for layer in Layer::ALL.into_iter().filter(|&layer| pushes[layer].is_some()) {
            self.protocol.records[layer].remove(key);
        }
    }

    /// Hands a write to the store; its value is pushed afterwards.
    fn store_coherent(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        pushes: Pushes,
        out: &mut Actions,
    ) {
        self.store(now, key, &write, out);
        self.set_step(key, Step::Storing { write, pushes });
    }

    /// The store has ended a write.
    pub(super) fn on_write_stored(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        pushes: Pushes,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let status = self.end_write(key, &write, result, out);
        if pushes.is_none() {
            self.recycle(write.value);
        } else if status == Status::Ok {
            let value = (write.op == Op::Put).then_some(write.value);
            self.push(now, key, pushes, value, None, out);
        } else {
            self.forget_pushes(key, pushes);
            self.recycle(write.value);
        }
    }

    /// Sends the value of `key` to the switches if it fits; `None` is a deleted key (rule 2).
    pub(super) fn push(
        &mut self,
        now: Nanos,
        key: &Key,
        pushes: Pushes,
        value: Option<Vec<u8>>,
        install: Option<Control>,
        out: &mut Actions,
    ) {
        let mut pending = Requests::default();
        let mut install = install;
        for layer in Layer::ALL {
            let Some(metadata) = pushes[layer] else { continue };
            let of_layer = |install: &mut Option<Control>| install.take_if(|it| it.layer == layer);
            let record = self.protocol.records[layer].get_mut(key);
            let Some(record) = record.filter(|it| it.generation == metadata.generation) else {
                // The controller has evicted the entry in the meantime.
                self.end_install(of_layer(&mut install), key, Status::NotCached, out);
                continue;
            };
            record.pushed = metadata.version;
            let room = capacity(metadata.bitmap).min(MAX_CACHED_VALUE);
            let unfit = match &value {
                Some(value) if value.len() <= room => {
                    self.protocol.stats.updates += 1;
                    let generation = metadata.generation;
                    pending[layer] = Some(self.open(now, Op::Update, layer, key, generation));
                    continue;
                }
                Some(_) => Status::TooLarge,
                None => Status::NotFound,
            };
            match of_layer(&mut install) {
                Some(control) => self.end_install(Some(control), key, unfit, out),
                None => self.report_outgrown(now, key, layer, out),
            }
        }
        match value {
            Some(value) if !pending.is_none() => {
                let awaited = L::AWAITS_UPDATES || install.is_some();
                self.set_step(key, Step::Updating { pushes, pending, value, install });
                self.send_all(pending, out);
                if !awaited {
                    self.end_unawaited(key);
                }
            }
            Some(value) => self.recycle(value),
            None => {}
        }
    }

    /// The UPDATEs of `key` are sent, and nothing waits for their answers.
    fn end_unawaited(&mut self, key: &Key) {
        let Some(Step::Updating { pending, value, .. }) = self.take_step(key) else { return };
        for request in Layer::ALL.into_iter().filter_map(|layer| pending[layer]) {
            self.protocol.pending.close(request);
        }
        self.recycle(value);
    }

    pub(super) fn on_update_reply(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        if !L::AWAITS_UPDATES && self.protocol.pending.get(frame.request()).is_none() {
            return;
        }
        if let Some(layer) = self.answered(now, frame, Op::Update) {
            self.end_update(now, &frame.key(), layer, frame.status(), out);
        }
    }

    /// The switch of a layer has answered the UPDATE.
    pub(crate) fn end_update(
        &mut self,
        now: Nanos,
        key: &Key,
        layer: Layer,
        status: Status,
        out: &mut Actions,
    ) {
        let Some(Step::Updating { pushes, mut pending, value, mut install }) = self.take_step(key)
        else {
            unreachable!("an UPDATE is pending only while its key waits for it")
        };
        if let Some(request) = pending[layer].take() {
            self.protocol.pending.close(request);
        }
        let not_cached = status == Status::NotCached;
        let generation = pushes[layer].map(|metadata| metadata.generation);
        let record = self.protocol.records[layer].get(key);
        if not_cached && record.map(|record| record.generation) == generation {
            self.forget(key, layer);
        }
        // Stale: a newer write has passed the switch. That write, or a read with its metadata, will
        // arrive here.
        let status = if not_cached { Status::NotCached } else { Status::Ok };
        self.end_install(install.take_if(|it| it.layer == layer), key, status, out);
        if pending.is_none() {
            self.recycle(value);
            self.advance(now, key, out);
        } else {
            self.set_step(key, Step::Updating { pushes, pending, value, install });
        }
    }

    /// Reports to the controller that the value of `key` no longer fits its entry, or is deleted.
    fn report_outgrown(&mut self, now: Nanos, key: &Key, layer: Layer, out: &mut Actions) {
        let Some(record) = self.protocol.records[layer].get(key).copied() else { return };
        if record.outgrown.is_some() {
            return;
        }
        let request = self.open(now, Op::Outgrown, layer, key, record.generation);
        let record = Record { outgrown: Some(request), ..record };
        self.protocol.records[layer].insert(*key, record);
        self.send_pending(request, out);
    }

    pub(super) fn on_outgrown_reply(&mut self, now: Nanos, frame: &FrameView<'_>) {
        let Some(layer) = self.answered(now, frame, Op::Outgrown) else { return };
        self.protocol.pending.close(frame.request());
        if let Some(record) = self.protocol.records[layer].get_mut(&frame.key()) {
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
}
