//! Servers whose protocol is not written in Rust.

use std::convert::Infallible;
use std::fmt::Debug;

use netkv_wire::{FrameView, Ip, Key, Message, Op, Sequence, Status};

use super::encoding::bytes_of;
use super::failure::{Failure, Outcome};
use crate::common::window::Seen;
use crate::kits::single_key::server::state::{Call, Write};
use crate::kits::single_key::server::{KeyState, Protocol, Server, ServerConfig};
use crate::options::ServerOptions;
use crate::{Actions, Applied, Counts, Nanos, Origin, StoreCall, StoreOp, StoreResult};

/// An action that a hook requests; `F` is a frame in the hook's language.
#[derive(Debug)]
pub enum Order<F> {
    /// Send a frame.
    Send(Vec<u8>),
    /// Read the record of this key for a request: [`ServerHooks::on_value`] follows.
    Read {
        /// The key.
        key: Key,
        /// Sender and number of the request.
        request: (u16, u32),
        /// Receives the refusal if the store fails; none for the copy of a write, which has
        /// succeeded.
        client: Option<Ip>,
        /// The request.
        frame: F,
    },
    /// Answer a request that is not a write under way.
    Answer {
        /// Sender and number of the request.
        request: (u16, u32),
        /// The answer.
        frame: Vec<u8>,
    },
    /// Hand the write that is under way for this key to the store: [`ServerHooks::on_stored`]
    /// follows.
    Store {
        /// The key.
        key: Key,
        /// The sequence that the store keeps with the record.
        sequence: Option<Sequence>,
    },
    /// Answer the write that is under way for this key; the next one begins.
    End {
        /// The key.
        key: Key,
        /// How it ended, for its copies.
        status: Status,
        /// The answer.
        frame: Vec<u8>,
    },
}

/// The result of a hook of a server.
pub type Orders<F> = Outcome<Vec<Order<F>>>;

/// The decisions of a protocol. Failures of the store and invalid requests are answered without a
/// hook.
#[allow(clippy::missing_errors_doc)] // the sentence with which a hook fails
pub trait ServerHooks: Debug + Send + Sync + 'static {
    /// A frame in the hook's language.
    type Frame: Debug + Send + Sync;

    /// The name of the role, for error messages.
    fn name(&self) -> &str;

    /// Converts a frame to the hook's language.
    fn frame(&self, bytes: &[u8]) -> Outcome<Self::Frame>;

    /// A read has arrived.
    fn on_read(&mut self, now: Nanos, request: &Self::Frame) -> Orders<Self::Frame>;

    /// The store has read the record for a request: its value, unless there is none, and its
    /// sequence.
    fn on_value(
        &mut self,
        now: Nanos,
        request: &Self::Frame,
        value: Option<&[u8]>,
        sequence: Sequence,
    ) -> Orders<Self::Frame>;

    /// A write starts: it is under way until [`Order::End`].
    fn on_write(&mut self, now: Nanos, write: &Self::Frame) -> Orders<Self::Frame>;

    /// The store has the write.
    fn on_stored(&mut self, now: Nanos, write: &Self::Frame) -> Orders<Self::Frame>;

    /// A copy of a write has arrived; the original has ended with `status`.
    fn on_copy(&mut self, now: Nanos, write: &Self::Frame, status: Status) -> Orders<Self::Frame>;

    /// A frame has arrived that is not a request of a client; none if the protocol does not have
    /// it.
    fn on_message(
        &mut self,
        now: Nanos,
        message: &Self::Frame,
    ) -> Outcome<Option<Vec<Order<Self::Frame>>>>;

    /// The time of [`ServerHooks::deadline`] has come.
    fn on_timer(&mut self, now: Nanos) -> Orders<Self::Frame>;

    /// When to call [`ServerHooks::on_timer`].
    fn deadline(&self) -> Outcome<Option<Nanos>>;

    /// Counts and gauges of the protocol.
    fn counts(&self) -> Outcome<Counts>;
}

/// A server of this protocol that starts now over a store that has applied these writes.
///
/// # Errors
///
/// The sentence with which a hook fails.
pub fn server<H: ServerHooks>(
    hooks: H,
    options: &ServerOptions,
    now: Nanos,
    applied: &Applied,
) -> Outcome<Box<dyn crate::Server>> {
    let due = hooks.deadline()?;
    let protocol = Foreign { hooks, due, failure: Failure::default() };
    let mut server = Server::with(protocol, ServerConfig::of(options), now, applied);
    if let Some(at) = due {
        server.timers.set(at, ());
    }
    Ok(Box::new(server))
}

#[derive(Debug)]
struct Foreign<H: ServerHooks> {
    hooks: H,
    /// When the current timer is due; others in the queue are ignored.
    due: Option<Nanos>,
    failure: Failure,
}

/// The work under way for a key.
#[derive(Debug)]
enum Step<F> {
    /// The hooks decide about the write.
    Deciding(Write<Outcome<F>>),
    /// The store has the write.
    Storing(Write<Outcome<F>>),
}

/// A request that waits for its record.
#[derive(Debug)]
struct Query<F> {
    key: Key,
    request: (u16, u32),
    client: Option<Ip>,
    frame: F,
}

impl<H: ServerHooks> Server<Foreign<H>> {
    /// Calls a hook and carries out its orders.
    fn call_hook(
        &mut self,
        now: Nanos,
        out: &mut Actions,
        hook: impl FnOnce(&mut Self) -> Orders<H::Frame>,
    ) {
        if self.protocol.failure.is_none() {
            let end = self.run_orders(now, out, hook);
            self.protocol.failure.keep(end);
        }
        self.protocol.failure.report(out);
    }

    fn run_orders(
        &mut self,
        now: Nanos,
        out: &mut Actions,
        hook: impl FnOnce(&mut Self) -> Orders<H::Frame>,
    ) -> Outcome<()> {
        hook(self)?.into_iter().try_for_each(|order| self.carry_out(now, order, out))?;
        let due = self.protocol.hooks.deadline()?;
        if due != self.protocol.due {
            self.protocol.due = due;
            due.into_iter().for_each(|at| self.timers.set(at, ()));
        }
        Ok(())
    }

    fn carry_out(&mut self, now: Nanos, order: Order<H::Frame>, out: &mut Actions) -> Outcome<()> {
        match order {
            Order::Send(frame) => out.send_written(|bytes| bytes.extend(frame)),
            Order::Read { key, request, client, frame } => {
                let call = self.calls.add(Call::Query(Query { key, request, client, frame }));
                out.get(call, key);
            }
            Order::Answer { request, frame } => {
                self.copies.end(now, request);
                out.send_written(|bytes| bytes.extend(frame));
            }
            Order::Store { key, sequence } => {
                let write = self.take_write(&key)?;
                let op = if write.op == Op::Put { StoreOp::Put } else { StoreOp::Delete };
                let (sender, request, value) = (write.sender, write.request, &write.value);
                let origin = Some(Origin { sender, request, second: self.config.second(now) });
                let id = self.calls.add(Call::Key(key));
                out.call(&StoreCall { op, value, origin, sequence, ..StoreCall::get(id, key) });
                self.set_step(&key, Step::Storing(write));
            }
            Order::End { key, status, frame } => {
                let write = self.take_write(&key)?;
                self.note(write.sender, write.request, Seen::Ended(status));
                out.send_written(|bytes| bytes.extend(frame));
                self.recycle(write.value);
            }
        }
        Ok(())
    }

    /// Takes the write of a key about which the hooks decide.
    fn take_write(&mut self, key: &Key) -> Outcome<Write<Outcome<H::Frame>>> {
        match self.take_step(key) {
            Some(Step::Deciding(write)) => Ok(write),
            step => Err(format!(
                "the role {} stores or ends a write of key {key:02x?}, but {}",
                self.protocol.hooks.name(),
                if step.is_some() { "the store has it" } else { "none is under way" }
            )),
        }
    }

    /// Calls a hook about the write of a key.
    fn call_write_hook(
        &mut self,
        now: Nanos,
        key: &Key,
        out: &mut Actions,
        hook: impl FnOnce(&mut H, &H::Frame) -> Orders<H::Frame>,
    ) {
        self.call_hook(now, out, |server| {
            let step = server.keys.get(key).and_then(|state| state.step.as_ref());
            let Some(Step::Deciding(write)) = step else { return Ok(Vec::new()) };
            let frame = write.tag.as_ref().map_err(Clone::clone)?;
            hook(&mut server.protocol.hooks, frame)
        });
    }

    /// Starts the next writes of keys whose write was ended by a message or timer.
    fn advance_all(&mut self, now: Nanos, out: &mut Actions) {
        let idle =
            |(key, state): (&Key, &KeyState<Foreign<H>>)| state.step.is_none().then_some(*key);
        let mut keys: Vec<Key> = self.keys.iter().filter_map(idle).collect();
        // Sorted, since the order of a hash map differs between runs.
        keys.sort_unstable();
        keys.iter().for_each(|key| self.advance(now, key, out));
    }
}

impl<H: ServerHooks> Protocol for Foreign<H> {
    type Config = ();
    type Tag = Outcome<H::Frame>;
    type Step = Step<H::Frame>;
    type KeyState = ();
    type Control = Infallible;
    type Query = Query<H::Frame>;
    type Timer = ();

    fn new(_: &ServerConfig<()>, _: Nanos) -> Self {
        unreachable!("`server` makes it with its hooks")
    }

    fn on_message(server: &mut Server<Self>, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let mut known = true;
        server.call_hook(now, out, |server| {
            let hooks = &mut server.protocol.hooks;
            let orders = hooks.on_message(now, &hooks.frame(&bytes_of(frame))?)?;
            known = orders.is_some();
            Ok(orders.unwrap_or_default())
        });
        if !known {
            server.reject_message(frame, out);
        }
        server.advance_all(now, out);
    }

    fn on_get(server: &mut Server<Self>, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        server.call_hook(now, out, |server| {
            let hooks = &mut server.protocol.hooks;
            hooks.on_read(now, &hooks.frame(&bytes_of(frame))?)
        });
    }

    fn tag(&self, frame: &FrameView<'_>, _: Nanos) -> Self::Tag {
        self.hooks.frame(&bytes_of(frame))
    }

    fn start_write(
        server: &mut Server<Self>,
        now: Nanos,
        key: &Key,
        write: Write<Self::Tag>,
        out: &mut Actions,
    ) {
        server.set_step(key, Step::Deciding(write));
        server.call_write_hook(now, key, out, |hooks, frame| hooks.on_write(now, frame));
    }

    fn on_copy(
        server: &mut Server<Self>,
        now: Nanos,
        frame: &FrameView<'_>,
        ended: Option<Status>,
        out: &mut Actions,
    ) {
        let Some(status) = ended else { return };
        server.call_hook(now, out, |server| {
            let hooks = &mut server.protocol.hooks;
            hooks.on_copy(now, &hooks.frame(&bytes_of(frame))?, status)
        });
    }

    fn on_queried(
        server: &mut Server<Self>,
        now: Nanos,
        query: Query<H::Frame>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let Query { key, request, client, frame } = query;
        let (value, sequence) = match result {
            StoreResult::Value(value, sequence) => (Some(value), sequence),
            StoreResult::NotFound(sequence) => (None, sequence),
            StoreResult::Done | StoreResult::Failed => {
                server.copies.end(now, request);
                if let Some(client) = client {
                    let (sender, number) = request;
                    let (from, op) = (server.address(), Op::GetReply);
                    let reply = Message::request(from, client, op, sender, number, key);
                    out.send(&reply.with_status(Status::Rejected));
                }
                return;
            }
        };
        server.call_hook(now, out, |server| {
            server.protocol.hooks.on_value(now, &frame, value, sequence)
        });
    }

    fn on_step_stored(
        server: &mut Server<Self>,
        now: Nanos,
        key: &Key,
        step: Step<H::Frame>,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let (Step::Storing(write) | Step::Deciding(write)) = step;
        if result == StoreResult::Failed {
            server.end_write(key, &write, result, out);
            server.recycle(write.value);
            return;
        }
        server.set_step(key, Step::Deciding(write));
        server.call_write_hook(now, key, out, |hooks, frame| hooks.on_stored(now, frame));
    }

    fn on_timer(server: &mut Server<Self>, now: Nanos, (): (), out: &mut Actions) {
        if server.protocol.due.is_none_or(|due| due > now) {
            return;
        }
        server.protocol.due = None;
        server.call_hook(now, out, |server| server.protocol.hooks.on_timer(now));
        server.advance_all(now, out);
    }

    fn add_counts(&self, into: &mut Counts) {
        // A failure is reported with the next frame.
        into.extend(self.failure.keep(self.hooks.counts()).unwrap_or_default());
    }
}
