//! Messages of the controller: ADMIT, INSTALL, EVICTED.

use netkv_wire::{FrameView, Key, MAX_CACHED_VALUE, Message, Op, Status, is_newer};

use super::layers::Layer;
use super::server::{Layers, Server};
use super::state::{Cause, Control, ControlReply, Step, Timer};
use crate::common::window::{Seen, Window};
use crate::{Actions, Nanos, StoreResult};

impl<L: Layers> Server<L> {
    pub(super) fn on_control(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let Some(control) = Control::read(frame) else {
            self.stats.malformed += 1;
            return;
        };
        let key = frame.key();
        let second = self.config.second(now);
        let window = self
            .protocol
            .control_windows
            .entry(control.sender)
            .or_insert_with(|| Window::new(control.request, second));
        match window.look(control.request, second) {
            Seen::New => {}
            Seen::Ended(reply) => {
                self.stats.duplicates += 1;
                self.send_control_reply(&key, &control, reply, out);
                return;
            }
            Seen::UnderWay => {
                self.stats.duplicates += 1;
                return;
            }
            Seen::Late => {
                self.stats.late += 1;
                return;
            }
        }
        window.set(control.request, Seen::UnderWay);
        if control.op == Op::Evicted {
            self.on_evicted(now, &key, &control, out);
        } else {
            self.keys.entry(key).or_default().own.controls.push_back(control);
        }
        self.advance(now, &key, out);
    }

    /// The entry was removed from the switch's lookup table, so its record is dropped. A switch of
    /// the upper layer may be gone: nothing waits for its answer any more. That of the lower one
    /// answers, or no frame gets here.
    fn on_evicted(&mut self, now: Nanos, key: &Key, control: &Control, out: &mut Actions) {
        let same = |generation: u32| generation == control.generation;
        let layer = control.layer;
        let known = self.protocol.records[layer].get(key).map(|record| record.generation);
        if known.is_some_and(same) {
            self.forget(key, layer);
        }
        self.release(key);
        self.answer_control(key, control, ControlReply { status: Status::Ok, length: 0 }, out);
        if layer == Layer::Lower {
            return;
        }
        let step = self.keys.get(key).and_then(|state| state.step.as_ref());
        match step {
            Some(Step::Invalidating { cause, pending, .. }) if pending[layer].is_some() => {
                let installed = match cause {
                    Cause::Install(install) if install.layer == layer => Some(install.generation),
                    _ => known,
                };
                if installed.is_some_and(same) {
                    self.end_invalidate(now, key, layer, None, out);
                }
            }
            Some(Step::Updating { pushes, pending, .. })
                if pending[layer].is_some()
                    && pushes[layer].is_some_and(|it| same(it.generation)) =>
            {
                self.end_update(now, key, layer, Status::NotCached, out);
            }
            _ => {}
        }
    }

    pub(super) fn start_control(
        &mut self,
        now: Nanos,
        key: &Key,
        control: Control,
        out: &mut Actions,
    ) {
        let older = |generation: u32| is_newer(generation, control.generation);
        let record = self.protocol.records[control.layer].get(key);
        if record.is_some_and(|record| older(record.generation)) {
            let reply = ControlReply { status: Status::Rejected, length: 0 };
            self.answer_control(key, &control, reply, out);
        } else if control.op == Op::Install {
            self.invalidate_one(now, key, control.layer, Cause::Install(control), out);
        } else {
            self.get_for_step(key, Step::Measuring(control), out);
        }
    }

    /// The store has answered with the value for an ADMIT: holds the writes of the key if the value
    /// fits into the cache.
    pub(super) fn on_measured(
        &mut self,
        now: Nanos,
        key: &Key,
        control: Control,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let (status, length) = match result {
            StoreResult::Value(value, _) if value.len() > MAX_CACHED_VALUE => {
                (Status::TooLarge, value.len() as u16)
            }
            StoreResult::Value(value, _) => (Status::Ok, value.len() as u16),
            StoreResult::NotFound(_) => (Status::NotFound, 0),
            StoreResult::Done | StoreResult::Failed => (Status::Rejected, 0),
        };
        if status == Status::Ok {
            let until = now + self.config.protocol.lease;
            if let Some(state) = self.keys.get_mut(key) {
                state.own.held_until = Some(until);
            }
            self.timers.set(until, Timer::Lease(*key));
        }
        self.answer_control(key, &control, ControlReply { status, length }, out);
    }

    /// Releases the writes of `key` that ADMIT holds.
    pub(super) fn release(&mut self, key: &Key) {
        if let Some(state) = self.keys.get_mut(key) {
            state.own.held_until = None;
        }
    }

    pub(super) fn answer_control(
        &mut self,
        key: &Key,
        control: &Control,
        reply: ControlReply,
        out: &mut Actions,
    ) {
        if let Some(window) = self.protocol.control_windows.get_mut(&control.sender) {
            window.set(control.request, Seen::Ended(reply));
        }
        self.send_control_reply(key, control, reply, out);
    }

    fn send_control_reply(
        &self,
        key: &Key,
        control: &Control,
        reply: ControlReply,
        out: &mut Actions,
    ) {
        let message = Message::request(
            self.address(),
            control.controller,
            control.op.reply(),
            control.sender,
            control.request,
            *key,
        );
        let upper = control.layer == Layer::Upper;
        out.send(&Message { length: reply.length, upper, ..message.with_status(reply.status) });
    }
}
