//! Requests of clients: reads, and writes that have their effect once.

use netkv_wire::{FrameView, Ip, Key, MAX_VALUE, Mark, Message, Op, Stamp, Status};

use super::state::{Call, Step, Write};
use super::window::{Seen, Window};
use super::{Scheme, Server};
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
        let passed_switch = self.config.scheme != Scheme::FarReach || self.is_numbered(frame);
        if is_reserved(&frame.key()) || !passed_switch {
            self.stats.unexpected += 1;
            self.copies.forget((frame.sender(), frame.request()));
            self.refuse(frame, Status::Rejected, out);
            return;
        }
        self.stats.served += 1;
        if frame.op() != Op::Get {
            self.copies.end(now, (frame.sender(), frame.request()));
        }
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
        if self.config.scheme == Scheme::FarReach {
            self.query(frame, out);
            return;
        }
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
            StoreResult::Value(value, _) => reply.with_value(value),
            StoreResult::NotFound(_) => reply.with_status(Status::NotFound),
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
        if self.config.scheme == Scheme::FarReach && self.is_unknown(frame, seen) {
            self.stats.unknown += 1;
            self.end_at_once(frame, Status::Unknown, out);
            return;
        }
        if frame.value().len() > MAX_VALUE {
            self.end_at_once(frame, Status::TooLarge, out);
            return;
        }
        let key = frame.key();
        if self.is_full(&key) {
            // Not remembered as seen: the retry may find room.
            self.stats.overloaded += 1;
            self.copies.forget((sender, request));
            self.refuse(frame, Status::Overloaded, out);
            return;
        }
        self.note(frame, Seen::UnderWay);
        let write = self.write_of(arrived, frame);
        self.take_up(now, &key, write, out);
    }

    /// Whether no more writes may wait for `key`.
    pub(super) fn is_full(&self, key: &Key) -> bool {
        let waiting = self.keys.get(key).map_or(0, |state| state.writes.len());
        waiting >= self.config.max_waiting
    }

    /// The write in `frame`, which arrived then.
    pub(super) fn write_of(&mut self, arrived: Nanos, frame: &FrameView<'_>) -> Write {
        let mut value = self.take_buffer();
        value.extend_from_slice(frame.value());
        Write {
            op: frame.op(),
            sender: frame.sender(),
            request: frame.request(),
            client: frame.source(),
            mark: frame.mark(),
            stamp: frame.stamp().unwrap_or_default(),
            guarded: arrived < self.guard_until,
            value,
        }
    }

    /// Begins with a write, or lets it wait for what is under way for its key.
    pub(super) fn take_up(&mut self, now: Nanos, key: &Key, write: Write, out: &mut Actions) {
        match self.keys.get_mut(key) {
            Some(state) if !self.mutated.by(Mutation::OvertakeWrites) => {
                state.writes.push_back(write);
            }
            _ => self.start_write(now, key, write, out),
        }
        self.advance(now, key, out);
    }

    /// Begins with a write of a key for which nothing is under way.
    pub(super) fn start_write(&mut self, now: Nanos, key: &Key, write: Write, out: &mut Actions) {
        match self.config.scheme {
            Scheme::Plain => self.store(now, key, write, None, out),
            Scheme::NetCache => self.start_coherent(now, key, write, out),
            Scheme::FarReach => self.start_guarded(now, key, write, out),
        }
    }

    /// Answers a write that is not carried out, and its copies alike.
    fn end_at_once(&mut self, frame: &FrameView<'_>, status: Status, out: &mut Actions) {
        self.note(frame, Seen::Ended(status));
        self.refuse(frame, status, out);
    }

    /// Remembers what has become of a request.
    fn note(&mut self, frame: &FrameView<'_>, seen: Seen<Status>) {
        if let Some(window) = self.windows.get_mut(&frame.sender()) {
            window.set(frame.request(), seen);
        }
    }

    /// Answers a request that has no effect. A stamp says nothing then about the record.
    pub(super) fn refuse(&self, frame: &FrameView<'_>, status: Status, out: &mut Actions) {
        let stamped = self.config.scheme == Scheme::FarReach && frame.stamp().is_some();
        let stamp = stamped.then(Stamp::default);
        out.send(&Message { source: self.address(), stamp, ..frame.reply(status) });
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
                if self.config.scheme == Scheme::FarReach && status == Status::Ok {
                    self.answer_copy(frame, out);
                } else {
                    self.refuse(frame, status, out);
                }
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
        let value = &write.value;
        out.call(&StoreCall { op, value, origin, ..StoreCall::get(id, *key) });
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
                    StoreResult::Value(bytes, _) => {
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
            Step::Looking(write) => self.on_looked(now, &key, write, result, out),
            Step::Writing(write) => self.on_written(now, &key, write, result, out),
            Step::Noting(write) => self.on_noted(now, &key, write, result, out),
            Step::Checking(tombstone) => self.on_checked(tombstone, result, out),
            Step::Dropping(tombstone) => self.on_dropped(tombstone, result),
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
        out.send(&self.reply_to_write(key, write, status));
    }

    pub(super) fn reply_to_write(
        &self,
        key: &Key,
        write: &Write,
        status: Status,
    ) -> Message<'static> {
        let Write { op, client, sender, request, .. } = *write;
        Message::request(self.address(), client, op.reply(), sender, request, *key)
            .with_status(status)
    }
}
