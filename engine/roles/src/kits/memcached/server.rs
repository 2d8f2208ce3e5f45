//! A storage server: that of [`crate::kits::single_key`], with its frames translated to memcached's
//! protocol.

use std::collections::hash_map::Entry;

use netkv_wire::memcached::{Opcode, Reply, Request, status};
use netkv_wire::{
    FrameView, Key, Message, Op, SERVICE_IP, Status, client_of_ip, is_newer, server_ip, write_frame,
};
use rustc_hash::FxHashMap;

use super::items::{Items, stamp_of, version_of};
use crate::common::request_numbers::WINDOW;
use crate::kits::single_key::{self, ServerConfig};
use crate::options::ServerOptions;
use crate::{Actions, Applied, CallId, Counts, Nanos, StoreResult};

type Inner = single_key::Server<Items>;

/// The fields of a request that its reply needs.
#[derive(Debug, Clone, Copy)]
struct Pending {
    source_port: u16,
    id: u16,
    opaque: u32,
}

/// One partition's storage server.
pub(super) struct Server {
    inner: Inner,
    /// Requests without a reply, by client and number modulo the window of the inner server. A
    /// request that gets none stays until a newer one has its place.
    pending: FxHashMap<(u16, u16), Pending>,
    malformed: u64,
    /// Frames and storage calls of `inner`.
    actions: Actions,
    frame: Vec<u8>,
}

impl Server {
    pub(super) fn restore(options: &ServerOptions, now: Nanos, applied: &Applied) -> Self {
        Self {
            inner: Inner::restore(ServerConfig::of(options), now, applied),
            pending: FxHashMap::default(),
            malformed: 0,
            actions: Actions::new(),
            frame: Vec::new(),
        }
    }

    /// Translates a request into `self.frame`; false if the server does not support it.
    fn translate(&mut self, bytes: &[u8]) -> bool {
        let Ok(request) = Request::parse(bytes) else { return false };
        let Some(client) = client_of_ip(request.source) else { return false };
        let Ok(key) = Key::try_from(request.key) else { return false };
        if request.destination != server_ip(self.inner.config().server) {
            return false;
        }
        let op = match request.opcode {
            Opcode::Get => Op::Get,
            Opcode::Set => Op::Put,
            Opcode::Delete => Op::Delete,
        };
        let Request { source_port, id, opaque, .. } = request;
        // A late copy does not replace a newer request.
        let newest = self.pending.entry((client, slot_of(opaque)));
        let newest = newest.or_insert(Pending { source_port, id, opaque });
        if !is_newer(newest.opaque, opaque) {
            *newest = Pending { source_port, id, opaque };
        }
        let message = Message::request(request.source, SERVICE_IP, op, client, opaque, key);
        let message = Message { stamp: stamp_of(request.cas), ..message };
        self.frame.clear();
        write_frame(&mut self.frame, &message.with_value(request.value));
        true
    }

    /// Calls `work` on the inner server and translates what it sends.
    fn with(&mut self, out: &mut Actions, work: impl FnOnce(&mut Inner, &mut Actions)) {
        let mut actions = std::mem::take(&mut self.actions);
        work(&mut self.inner, &mut actions);
        for call in actions.calls() {
            out.call(&call);
        }
        for frame in actions.frames() {
            if let Ok(frame) = FrameView::parse(frame) {
                self.reply(&frame, out);
            }
        }
        if let Some(text) = actions.take_failure() {
            out.fail(text);
        }
        actions.clear();
        self.actions = actions;
    }

    /// Sends the reply of the inner server.
    fn reply(&mut self, frame: &FrameView<'_>, out: &mut Actions) {
        let opcode = match frame.op() {
            Op::GetReply => Opcode::Get,
            Op::PutReply => Opcode::Set,
            Op::DeleteReply => Opcode::Delete,
            _ => return,
        };
        let (client, number) = (frame.sender(), frame.request());
        let Entry::Occupied(found) = self.pending.entry((client, slot_of(number))) else { return };
        if found.get().opaque != number {
            return;
        }
        let pending = found.remove();
        let (result, text): (u16, &[u8]) = match frame.status() {
            Status::Ok => (status::OK, frame.value()),
            Status::NotFound => (status::NOT_FOUND, b"Not found"),
            Status::Conflict => (status::EXISTS, b"Data exists for key."),
            Status::TooLarge => (status::TOO_LARGE, b"Too large."),
            Status::Overloaded => (status::BUSY, b"Busy"),
            _ => (status::INTERNAL_ERROR, b"Internal error"),
        };
        out.send_written(|bytes| {
            Reply {
                source: frame.source(),
                destination: frame.destination(),
                destination_port: pending.source_port,
                opcode,
                id: pending.id,
                status: result,
                opaque: pending.opaque,
                cas: version_of(frame.stamp()),
                value: text,
            }
            .write(bytes);
        });
    }
}

fn slot_of(number: u32) -> u16 {
    (number % WINDOW) as u16
}

impl crate::Server for Server {
    fn index(&self) -> u16 {
        self.inner.index()
    }

    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        if !self.translate(bytes) {
            self.malformed += 1;
            return;
        }
        let frame = std::mem::take(&mut self.frame);
        self.with(out, |inner, out| inner.on_frame(now, &frame, out));
        self.frame = frame;
    }

    fn on_stored(&mut self, now: Nanos, call: CallId, result: StoreResult<'_>, out: &mut Actions) {
        self.with(out, |inner, out| inner.on_stored(now, call, result, out));
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Actions) {
        self.with(out, |inner, out| inner.on_timer(now, out));
    }

    fn deadline(&self) -> Option<Nanos> {
        self.inner.deadline()
    }

    fn slow(&mut self, factor: f64) -> bool {
        self.inner.slow(factor)
    }

    fn busy_keys(&self) -> usize {
        self.inner.busy_keys()
    }

    fn counts(&self) -> Counts {
        let mut counts = self.inner.counts();
        for (name, count) in &mut counts {
            if *name == "malformed" {
                *count += self.malformed;
            }
        }
        counts
    }
}
