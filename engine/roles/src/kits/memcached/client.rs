//! Clients: those of [`crate::kits::single_key`], with their frames translated to memcached's
//! protocol.

use netkv_checker::{Summary, Violation};
use netkv_wire::memcached::{CLIENT_PORT, Opcode, Reply, Request, status};
use netkv_wire::{FrameView, Message, Op, Status, client_of_ip, partition, server_ip, write_frame};
use netkv_workload::{Arrivals, Workload};

use super::conditions::Conditions;
use super::items::{stamp_of, version_of};
use crate::common::timers::Backoff;
use crate::kits::single_key;
use crate::options::ClientOptions;
use crate::{Actions, ClientConfig, ClientStats, Completion, Counts, Nanos, UserOp, VerifyReport};

type Inner = single_key::Client<Conditions>;

/// Many clients in one state machine.
pub(super) struct Client {
    inner: Inner,
    /// Servers that share the keys.
    servers: u16,
    /// Frames of `inner`.
    actions: Actions,
    frame: Vec<u8>,
}

impl Client {
    /// Clients that start no operation yet.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub(super) fn new(options: &ClientOptions, workload: Workload) -> Result<Self, String> {
        let load = options.load;
        // Rule 1 of the protocol: the first retry would come at the deadline.
        let beyond = load.deadline.saturating_mul(4);
        let never = Backoff { initial: beyond, cap: beyond };
        let conditional = workload.config().conditional > 0.0;
        let mut inner = Inner::new(ClientConfig { retry: never, ..load }, workload)?;
        inner.protocol.enabled = conditional;
        Ok(Self {
            inner,
            servers: options.keyspace.servers,
            actions: Actions::new(),
            frame: Vec::new(),
        })
    }

    /// Calls `work` on the inner client and translates what it sends.
    fn with<T>(
        &mut self,
        out: &mut Actions,
        work: impl FnOnce(&mut Inner, &mut Actions) -> T,
    ) -> T {
        let result = work(&mut self.inner, &mut self.actions);
        for frame in self.actions.frames() {
            if let Some(request) = FrameView::parse(frame).ok().and_then(opcode_of) {
                let (frame, opcode) = request;
                let key = frame.key();
                out.send_written(|bytes| {
                    Request {
                        source: frame.source(),
                        source_port: CLIENT_PORT,
                        destination: server_ip(partition(&key, self.servers)),
                        opcode,
                        id: frame.request() as u16,
                        opaque: frame.request(),
                        cas: version_of(&frame),
                        key: &key,
                        value: frame.value(),
                    }
                    .write(bytes);
                });
            }
        }
        self.actions.clear();
        if let Some(text) = self.actions.take_failure() {
            out.fail(text);
        }
        result
    }

    /// Translates a reply into `self.frame`; false if the frame is no reply.
    fn translate(&mut self, bytes: &[u8]) -> bool {
        let Ok(reply) = Reply::parse(bytes) else { return false };
        let Some(client) = client_of_ip(reply.destination) else { return false };
        let op = match reply.opcode {
            Opcode::Get => Op::GetReply,
            Opcode::Set => Op::PutReply,
            Opcode::Delete => Op::DeleteReply,
        };
        let result = match reply.status {
            status::OK => Status::Ok,
            // A SET that is refused: the item is not there, or has another version.
            status::NOT_FOUND if op == Op::PutReply => Status::Conflict,
            status::NOT_FOUND => Status::NotFound,
            status::EXISTS => Status::Conflict,
            status::TOO_LARGE => Status::TooLarge,
            status::BUSY => Status::Overloaded,
            _ => Status::Rejected,
        };
        let (source, destination) = (reply.source, reply.destination);
        // Replies have no key; clients find the request by its number.
        let message = Message::request(source, destination, op, client, reply.opaque, [0; 16])
            .with_status(result);
        let stamp = if result == Status::Ok { stamp_of(reply.cas) } else { None };
        let message = Message { stamp, ..message };
        let value = if op == Op::GetReply && result == Status::Ok { reply.value } else { &[] };
        self.frame.clear();
        write_frame(&mut self.frame, &message.with_value(value));
        true
    }
}

/// The operation of memcached for a request of a client.
fn opcode_of(frame: FrameView<'_>) -> Option<(FrameView<'_>, Opcode)> {
    let opcode = match frame.op() {
        Op::Get => Opcode::Get,
        Op::Put => Opcode::Set,
        Op::Delete => Opcode::Delete,
        _ => return None,
    };
    Some((frame, opcode))
}

impl crate::Client for Client {
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let known = self.translate(bytes);
        let frame = std::mem::take(&mut self.frame);
        // The inner client counts what is no reply.
        let bytes = if known { &frame } else { bytes };
        self.with(out, |inner, out| inner.on_frame(now, bytes, out));
        self.frame = frame;
    }

    fn poll(&mut self, now: Nanos, out: &mut Actions) {
        self.with(out, |inner, out| inner.poll(now, out));
    }

    fn deadline(&self) -> Option<Nanos> {
        self.inner.deadline()
    }

    fn start(&mut self, now: Nanos, out: &mut Actions) {
        self.with(out, |inner, out| inner.start(now, out));
    }

    fn pause(&mut self) {
        self.inner.pause();
    }

    fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions) {
        self.with(out, |inner, out| inner.set_arrivals(now, arrivals, out));
    }

    fn outstanding(&self) -> usize {
        self.inner.outstanding()
    }

    fn workload(&self) -> &Workload {
        self.inner.workload()
    }

    fn workload_mut(&mut self) -> &mut Workload {
        self.inner.workload_mut()
    }

    fn stats(&self) -> &ClientStats {
        self.inner.stats()
    }

    fn take_stats(&mut self, into: &mut ClientStats) {
        self.inner.take_stats(into);
    }

    fn add_gauges(&self, into: &mut Counts) {
        self.inner.add_gauges(into);
    }

    fn crash(&mut self, now: Nanos, out: &mut Actions) {
        self.with(out, |inner, out| inner.crash(now, out));
    }

    fn leave(&mut self, now: Nanos, out: &mut Actions) {
        self.with(out, |inner, out| inner.leave(now, out));
    }

    fn verify(&mut self, now: Nanos, out: &mut Actions) {
        self.with(out, |inner, out| inner.verify(now, out));
    }

    fn verified(&self) -> Option<VerifyReport> {
        self.inner.verified()
    }

    fn history(&self) -> Option<Summary> {
        self.inner.history()
    }

    fn violations(&self) -> Vec<Violation> {
        self.inner.violations()
    }

    fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String> {
        self.with(out, |inner, out| inner.submit(now, token, op, out))
    }

    fn completions(&mut self, into: &mut Vec<Completion>) {
        self.inner.completions(into);
    }
}
