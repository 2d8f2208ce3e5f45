//! Messages of the controller: ADMIT, INSTALL, EVICTED (NetCache paper, section on cache update).

use netkv_wire::{FrameView, Key, MAX_CACHED_VALUE, Message, Op, Status, is_newer};

use super::state::{Call, Cause, Control, KeyState, Step, Timer};
use super::window::{Seen, Window};
use super::{Scheme, Server};
use crate::mutation::Mutation;
use crate::{Actions, Nanos, StoreResult};

/// How a message of the controller was answered, for its copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ControlReply {
    pub(super) status: Status,
    pub(super) length: u16,
}

impl Server {
    pub(super) fn on_control(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let Some(control) = Control::read(frame) else {
            self.stats.malformed += 1;
            return;
        };
        let key = frame.key();
        let second = self.config.second(now);
        let window = self
            .control_windows
            .entry(control.sender)
            .or_insert_with(|| Window::new(control.request, second));
        match window.look(control.request, second) {
            Seen::New => {}
            _ if self.mutated.by(Mutation::RepeatControl) => {}
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
        if self.config.scheme != Scheme::NetCache {
            let reply = ControlReply { status: Status::Rejected, length: 0 };
            self.answer_control(&key, &control, reply, out);
            return;
        }
        if control.op == Op::Evicted {
            self.on_evicted(&key, &control, out);
        } else {
            self.keys.entry(key).or_insert_with(KeyState::new).controls.push_back(control);
        }
        self.advance(now, &key, out);
    }

    /// The entry is out of the switch's lookup table, so its record is of no use.
    fn on_evicted(&mut self, key: &Key, control: &Control, out: &mut Actions) {
        let any = self.mutated.by(Mutation::EvictAnyGeneration);
        let same = |generation: u32| generation == control.generation || any;
        if self.records.get(key).is_some_and(|record| same(record.generation)) {
            self.forget(key);
        }
        self.release(key);
        self.answer_control(key, control, ControlReply { status: Status::Ok, length: 0 }, out);
    }

    pub(super) fn start_control(
        &mut self,
        now: Nanos,
        key: &Key,
        control: Control,
        out: &mut Actions,
    ) {
        let older = |generation: u32| is_newer(generation, control.generation);
        if self.records.get(key).is_some_and(|record| older(record.generation)) {
            let reply = ControlReply { status: Status::Rejected, length: 0 };
            self.answer_control(key, &control, reply, out);
        } else if control.op == Op::Install {
            self.invalidate(now, key, Cause::Install(control), out);
        } else {
            let call = self.calls.add(Call::Key(*key));
            out.get(call, *key);
            self.set_step(key, Step::Measuring(control));
        }
    }

    /// The store has told the value for an ADMIT: hold its writes if it fits a cache.
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
        if status == Status::Ok && !self.mutated.by(Mutation::HoldNothing) {
            let for_ever = self.mutated.by(Mutation::HoldForEver);
            let until = if for_ever { Nanos::MAX } else { now + self.config.lease };
            if let Some(state) = self.keys.get_mut(key) {
                state.held_until = Some(until);
            }
            self.timers.set(until, Timer::Lease(*key));
        }
        self.answer_control(key, &control, ControlReply { status, length }, out);
    }

    /// Lets the writes of `key` go, as far as ADMIT holds them.
    pub(super) fn release(&mut self, key: &Key) {
        if let Some(state) = self.keys.get_mut(key) {
            state.held_until = None;
        }
    }

    pub(super) fn answer_control(
        &mut self,
        key: &Key,
        control: &Control,
        reply: ControlReply,
        out: &mut Actions,
    ) {
        if let Some(window) = self.control_windows.get_mut(&control.sender) {
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
        out.send(&Message { length: reply.length, ..message.with_status(reply.status) });
    }
}
