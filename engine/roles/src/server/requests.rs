//! Requests of clients: reads, and writes that have their effect once.

use netkv_wire::{FrameView, Ip, Key, MAX_VALUE, Mark, Message, Op, Status};

use super::Server;
use super::state::{Call, Step, Write};
use super::window::{Seen, Window};
use crate::mutation::Mutation;
use crate::{Actions, Nanos, Origin, StoreCall, StoreOp, StoreResult, is_reserved};

impl Server {
    /// Takes up a request whose turn has come, and which arrived then.
    pub(super) fn serve(
        &mut self,
        now: Nanos,
        arrived: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        if is_reserved(&frame.key()) {
            self.stats.unexpected += 1;
            out.send(&Message { source: self.address(), ..frame.reply(Status::Rejected) });
            return;
        }
        self.stats.served += 1;
        match frame.op() {
            Op::Get => self.on_get(now, frame, out),
            Op::Put => {
                self.stats.writes += 1;
                self.on_write(now, arrived, frame, out);
            }
            _ => {
                self.stats.deletes += 1;
                self.on_write(now, arrived, frame, out);
            }
        }
    }

    /// A read is served at once, whatever happens to its key.
    fn on_get(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        self.stats.reads += 1;
        let key = frame.key();
        let call = self.calls.add(Call::Read {
            client: frame.source(),
            sender: frame.sender(),
            request: frame.request(),
            key,
        });
        out.get(call, key);
        if let Some(mark) = frame.mark() {
            self.refresh(now, &key, mark, out);
        }
    }

    pub(super) fn answer_read(
        &mut self,
        client: Ip,
        sender: u16,
        request: u32,
        key: Key,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let reply = Message::request(self.address(), client, Op::GetReply, sender, request, key);
        out.send(&match result {
            StoreResult::Value(value) => reply.with_value(value),
            StoreResult::NotFound => reply.with_status(Status::NotFound),
            StoreResult::Done | StoreResult::Failed => reply.with_status(Status::Rejected),
        });
    }

    fn on_write(&mut self, now: Nanos, arrived: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let (sender, request) = (frame.sender(), frame.request());
        let second = self.config.second(now);
        let window = self.windows.entry(sender).or_insert_with(|| Window::new(request, second));
        let seen = window.look(request, second);
        let repeat = match seen {
            Seen::New => true,
            Seen::Late => self.mutated.by(Mutation::RepeatLateWrites),
            Seen::UnderWay | Seen::Ended(_) => self.mutated.by(Mutation::RepeatWrites),
        };
        if !repeat {
            self.on_write_again(now, frame, seen, out);
            return;
        }
        if frame.value().len() > MAX_VALUE {
            window.set(request, Seen::Ended(Status::TooLarge));
            out.send(&Message { source: self.address(), ..frame.reply(Status::TooLarge) });
            return;
        }
        let key = frame.key();
        let waiting = self.keys.get(&key).map_or(0, |state| state.writes.len());
        if waiting >= self.config.max_waiting {
            // Not remembered as seen: the retry may find room.
            self.stats.overloaded += 1;
            out.send(&Message { source: self.address(), ..frame.reply(Status::Overloaded) });
            return;
        }
        window.set(request, Seen::UnderWay);
        let mut value = self.take_buffer();
        value.extend_from_slice(frame.value());
        let write = Write {
            op: frame.op(),
            sender,
            request,
            client: frame.source(),
            mark: frame.mark(),
            guarded: arrived < self.guard_until,
            value,
        };
        match self.keys.get_mut(&key) {
            Some(state) if !self.mutated.by(Mutation::OvertakeWrites) => {
                state.writes.push_back(write);
            }
            _ => self.start_write(now, &key, write, out),
        }
        self.advance(now, &key, out);
    }

    /// A copy has no effect on the store. But on its way it has invalidated the entry again.
    fn on_write_again(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        seen: Seen<Status>,
        out: &mut Actions,
    ) {
        match seen {
            Seen::Ended(status) if !self.mutated.by(Mutation::LeaveCopiesUnanswered) => {
                self.stats.duplicates += 1;
                out.send(&Message { source: self.address(), ..frame.reply(status) });
            }
            Seen::Late => self.stats.late += 1,
            Seen::New | Seen::UnderWay | Seen::Ended(_) => self.stats.duplicates += 1,
        }
        if let Some(mark) = frame.mark() {
            self.refresh(now, &frame.key(), mark, out);
        }
    }

    /// Hands a write to the store; its value is pushed afterwards if `push` is there.
    pub(super) fn store(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write,
        push: Option<Mark>,
        out: &mut Actions,
    ) {
        let op = if write.op == Op::Put { StoreOp::Put } else { StoreOp::Delete };
        let id = self.calls.add(Call::Key(*key));
        let (sender, request) = (write.sender, write.request);
        let origin = Some(Origin { sender, request, second: self.config.second(now) });
        out.call(&StoreCall { id, op, key: *key, value: &write.value, origin });
        if self.mutated.by(Mutation::AnswerBeforeStored) {
            self.answer_write(key, &write, Status::Ok, out);
        }
        self.set_step(key, Step::Storing { write, push });
    }

    /// The store has finished what it was asked for the step of `key`.
    pub(super) fn on_key_stored(
        &mut self,
        now: Nanos,
        key: Key,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        match self.set_step(&key, Step::Idle) {
            Step::Storing { write, push } => {
                self.on_write_stored(now, &key, write, push, result, out)
            }
            Step::Measuring(control) => self.on_measured(now, &key, control, result, out),
            Step::Fetching { mark, install } => {
                let mut value = self.take_buffer();
                let found = match result {
                    StoreResult::Value(bytes) => {
                        value.extend_from_slice(bytes);
                        Some(value)
                    }
                    _ => None,
                };
                if result == StoreResult::Failed {
                    // The record claims a push that will not happen; without it, the next marked
                    // read or write starts afresh.
                    self.records.remove(&key);
                    self.end_install(install, &key, Status::Rejected, out);
                } else {
                    self.push(now, &key, mark, found, install, out);
                }
            }
            step => {
                // Steps that wait for a frame are not ended by the store.
                self.stats.unexpected += 1;
                self.set_step(&key, step);
            }
        }
        self.advance(now, &key, out);
    }

    fn on_write_stored(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write,
        push: Option<Mark>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let status = match result {
            StoreResult::Failed if !self.mutated.by(Mutation::AnswerFailuresAsDone) => {
                Status::Rejected
            }
            _ => Status::Ok,
        };
        if let Some(window) = self.windows.get_mut(&write.sender) {
            window.set(write.request, Seen::Ended(status));
        }
        self.answer_write(key, &write, status, out);
        match push {
            Some(_) if status != Status::Ok => {
                self.records.remove(key);
                self.recycle(write.value);
            }
            Some(mark) => {
                let value = (write.op == Op::Put).then_some(write.value);
                self.push(now, key, mark, value, None, out);
            }
            None => self.recycle(write.value),
        }
    }

    fn answer_write(&self, key: &Key, write: &Write, status: Status, out: &mut Actions) {
        let reply = Message::request(
            self.address(),
            write.client,
            write.op.reply(),
            write.sender,
            write.request,
            *key,
        );
        out.send(&reply.with_status(status));
    }
}
