//! Requests of clients: reads, and writes that take effect once.

use netkv_wire::{FrameView, Key, MAX_VALUE, Message, Op, Status};

use super::protocol::{Protocol, Server};
use super::state::{Call, Read, Write};
use crate::common::window::{Seen, Window};
use crate::{Actions, Nanos, Origin, StoreCall, StoreOp, StoreResult, is_reserved};

impl<P: Protocol> Server<P> {
    /// Accepts a request, which arrived at `arrived`, when its service starts.
    pub(super) fn serve(
        &mut self,
        now: Nanos,
        arrived: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        if is_reserved(&frame.key()) || !P::accepts(frame) {
            self.stats.unexpected += 1;
            self.copies.forget((frame.sender(), frame.request()));
            self.refuse(frame, Status::Rejected, out);
            return;
        }
        self.stats.served += 1;
        if frame.op() == Op::Get {
            self.stats.reads += 1;
            P::on_get(self, now, frame, out);
            return;
        }
        self.copies.end(now, (frame.sender(), frame.request()));
        let put = frame.op() == Op::Put;
        *(if put { &mut self.stats.writes } else { &mut self.stats.deletes }) += 1;
        self.on_write(now, arrived, frame, out);
    }

    fn on_write(&mut self, now: Nanos, arrived: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let (sender, request) = (frame.sender(), frame.request());
        let second = self.config.second(now);
        let window = self.windows.entry(sender).or_insert_with(|| Window::new(request, second));
        let seen = window.look(request, second);
        if seen != Seen::New {
            self.on_write_again(now, frame, seen, out);
            return;
        }
        if P::is_unknown(self, frame, seen == Seen::New) {
            self.end_at_once(frame, Status::Unknown, out);
            return;
        }
        if frame.value().len() > MAX_VALUE {
            self.end_at_once(frame, Status::TooLarge, out);
            return;
        }
        let key = frame.key();
        if self.is_full(&key) {
            // Not recorded in the window, so that a retry may succeed.
            self.stats.overloaded += 1;
            self.copies.forget((sender, request));
            self.refuse(frame, Status::Overloaded, out);
            return;
        }
        self.note(sender, request, Seen::UnderWay);
        let write = self.write_of(arrived, frame);
        self.accept_write(now, &key, write, out);
    }

    /// Whether no more writes may wait for `key`.
    pub(crate) fn is_full(&self, key: &Key) -> bool {
        let waiting = self.keys.get(key).map_or(0, |state| state.writes.len());
        waiting >= self.config.max_waiting
    }

    /// The write in `frame`, which arrived at `arrived`.
    pub(crate) fn write_of(&mut self, arrived: Nanos, frame: &FrameView<'_>) -> Write<P::Tag> {
        let mut value = self.take_buffer();
        value.extend_from_slice(frame.value());
        Write {
            op: frame.op(),
            sender: frame.sender(),
            request: frame.request(),
            client: frame.source(),
            tag: self.protocol.tag(frame, arrived),
            value,
        }
    }

    /// Starts a write, or queues it behind the work under way for its key.
    pub(crate) fn accept_write(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write<P::Tag>,
        out: &mut Actions,
    ) {
        match self.keys.get_mut(key) {
            Some(state) => state.writes.push_back(write),
            None => P::start_write(self, now, key, write, out),
        }
        self.advance(now, key, out);
    }

    /// Answers a write that is not carried out, and records the answer for its copies.
    fn end_at_once(&mut self, frame: &FrameView<'_>, status: Status, out: &mut Actions) {
        self.note(frame.sender(), frame.request(), Seen::Ended(status));
        self.refuse(frame, status, out);
    }

    /// Records the state of a request.
    pub(crate) fn note(&mut self, sender: u16, request: u32, seen: Seen<Status>) {
        if let Some(window) = self.windows.get_mut(&sender) {
            window.set(request, seen);
        }
    }

    /// Answers a request that has no effect.
    pub(crate) fn refuse(&self, frame: &FrameView<'_>, status: Status, out: &mut Actions) {
        self.send_reply(Message { stamp: P::refusal(frame), ..frame.reply(status) }, out);
    }

    /// Handles a copy of a write, which has no effect on the store.
    fn on_write_again(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        seen: Seen<Status>,
        out: &mut Actions,
    ) {
        let late = seen == Seen::Late;
        *(if late { &mut self.stats.late } else { &mut self.stats.duplicates }) += 1;
        let ended = match seen {
            Seen::Ended(status) => Some(status),
            _ => None,
        };
        P::on_copy(self, now, frame, ended, out);
    }

    /// Hands a write to the store.
    pub(crate) fn store(
        &mut self,
        now: Nanos,
        key: &Key,
        write: &Write<P::Tag>,
        out: &mut Actions,
    ) {
        let op = if write.op == Op::Put { StoreOp::Put } else { StoreOp::Delete };
        let id = self.calls.add(Call::Key(*key));
        let (sender, request) = (write.sender, write.request);
        let origin = Some(Origin { sender, request, second: self.config.second(now) });
        let value = &write.value;
        out.call(&StoreCall { op, value, origin, ..StoreCall::get(id, *key) });
    }

    /// Answers a write that the store has ended; returns the answer.
    pub(crate) fn end_write(
        &mut self,
        key: &Key,
        write: &Write<P::Tag>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) -> Status {
        let status = match result {
            StoreResult::Failed => Status::Rejected,
            _ => Status::Ok,
        };
        self.note(write.sender, write.request, Seen::Ended(status));
        out.send(&self.reply_to_write(key, write, status));
        status
    }

    pub(crate) fn reply_to_write(
        &self,
        key: &Key,
        write: &Write<P::Tag>,
        status: Status,
    ) -> Message<'static> {
        let Write { op, client, sender, request, .. } = *write;
        Message::request(self.address(), client, op.reply(), sender, request, *key)
            .with_status(status)
    }
}

impl<P: Protocol> Server<P> {
    /// The answer to a read, which ends it.
    pub(crate) fn reply_to_read<'a>(
        &mut self,
        now: Nanos,
        read: &Read,
        result: StoreResult<'a>,
    ) -> Message<'a> {
        let Read { client, sender, request, key } = *read;
        self.copies.end(now, (sender, request));
        let reply = Message::request(self.address(), client, Op::GetReply, sender, request, key);
        match result {
            StoreResult::Value(value, _) => reply.with_value(value),
            StoreResult::NotFound(_) => reply.with_status(Status::NotFound),
            StoreResult::Done | StoreResult::Failed => reply.with_status(Status::Rejected),
        }
    }
}

/// Reads of protocols that answer with the stored value and nothing else.
impl<P: Protocol<Query = Read>> Server<P> {
    /// Reads the store for a read request.
    #[inline]
    pub(crate) fn read(&mut self, frame: &FrameView<'_>, out: &mut Actions) {
        let read = Read::of(frame);
        let key = read.key;
        let call = self.calls.add(Call::Query(read));
        out.get(call, key);
    }

    /// Answers a read.
    pub(crate) fn answer_read(
        &mut self,
        now: Nanos,
        read: &Read,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        out.send(&self.reply_to_read(now, read, result));
    }
}
