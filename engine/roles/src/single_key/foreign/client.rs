//! Clients whose protocol is not written in Rust.

use std::fmt::Debug;
use std::sync::OnceLock;

use netkv_wire::{FrameView, Key, Stamp};
use netkv_workload::Workload;

use super::{Outcome, bytes_of};
use crate::registry::ClientOptions;
use crate::single_key::Client;
use crate::single_key::client::{Protocol, Verdict};
use crate::{Actions, ClientConfig, Counts, Nanos};

/// The decisions of a protocol; see [`Protocol`] for each.
#[allow(clippy::missing_errors_doc)] // the sentence with which a hook fails
pub trait ClientHooks: Debug + Send + Sync + 'static {
    /// What a request is stamped with.
    fn stamp(&self) -> Outcome<Option<Stamp>>;
    /// Whether an answer counts.
    fn judge(&self, answer: &[u8], written: usize) -> Outcome<Verdict>;
    /// A read was answered.
    fn on_read(&mut self, answer: &[u8]) -> Outcome<()>;
    /// A write of this value, or a delete, was answered.
    fn on_written(&mut self, value: Option<&[u8]>, answer: &[u8]) -> Outcome<()>;
    /// Takes a frame that answers no request and gives the frames to send; none if it is not of the
    /// protocol.
    fn on_message(&mut self, now: Nanos, message: &[u8]) -> Outcome<Option<Vec<Vec<u8>>>>;
    /// The load starts or goes on.
    fn start(&mut self, now: Nanos) -> Outcome<()>;
    /// Does what is due, and gives the frames to send.
    fn on_timer(&mut self, now: Nanos) -> Outcome<Vec<Vec<u8>>>;
    /// When to call [`ClientHooks::on_timer`].
    fn deadline(&self) -> Outcome<Option<Nanos>>;
    /// The process crashes and another one starts in its place.
    fn crash(&mut self) -> Outcome<()>;
    /// The process is going to end.
    fn leave(&mut self, now: Nanos) -> Outcome<()>;
    /// Whether nothing is left to be sent after [`ClientHooks::leave`].
    fn has_left(&self) -> Outcome<bool>;
    /// Gauges: what the process holds now.
    fn gauges(&self) -> Outcome<Counts>;
}

/// The clients of a process, with this protocol.
///
/// # Errors
///
/// A sentence about a setting that cannot be.
pub fn client<H: ClientHooks>(
    hooks: H,
    options: &ClientOptions,
    workload: Workload,
) -> Outcome<Box<dyn crate::Client>> {
    options.load.check_window(crate::WINDOW, "a server")?;
    let protocol = Foreign { hooks, failure: OnceLock::new(), reported: false };
    Ok(Box::new(Client::with(protocol, options.load, workload)?))
}

#[derive(Debug)]
struct Foreign<H> {
    hooks: H,
    /// Why it cannot go on; it is reported when it is polled, which is due then.
    failure: OnceLock<String>,
    reported: bool,
}

impl<H: ClientHooks> Foreign<H> {
    /// What a hook has given; nothing if it has failed.
    fn keep<T>(&self, outcome: Outcome<T>) -> Option<T> {
        outcome.map_err(|text| self.failure.set(text)).ok()
    }

    fn works(&self) -> bool {
        self.failure.get().is_none()
    }

    fn send(&self, frames: Outcome<Vec<Vec<u8>>>, out: &mut Actions) {
        for frame in self.keep(frames).unwrap_or_default() {
            out.send_written(|bytes| bytes.extend(frame));
        }
    }
}

impl<H: ClientHooks> Protocol for Foreign<H> {
    fn new(_: &ClientConfig) -> Outcome<Self> {
        unreachable!("`client` makes it with its hooks")
    }

    fn stamp(&self) -> Option<Stamp> {
        if self.works() { self.keep(self.hooks.stamp()).flatten() } else { None }
    }

    fn judge(&self, frame: &FrameView<'_>, written: usize) -> Verdict {
        let verdict =
            || self.keep(self.hooks.judge(&bytes_of(frame), written)).unwrap_or(Verdict::Ignore);
        if self.works() { verdict() } else { Verdict::Ignore }
    }

    fn on_read(&mut self, _: &Key, frame: &FrameView<'_>) {
        let outcome = self.hooks.on_read(&bytes_of(frame));
        self.keep(outcome);
    }

    fn on_written(
        &mut self,
        _: &Key,
        length: Option<u16>,
        fill: impl FnOnce(&mut [u8]),
        frame: &FrameView<'_>,
    ) {
        let value = length.map(|length| {
            let mut value = vec![0; usize::from(length)];
            fill(&mut value);
            value
        });
        let outcome = self.hooks.on_written(value.as_deref(), &bytes_of(frame));
        self.keep(outcome);
    }

    fn on_message(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) -> bool {
        let outcome = self.hooks.on_message(now, &bytes_of(frame));
        let frames = self.keep(outcome).flatten();
        let known = frames.is_some();
        self.send(Ok(frames.unwrap_or_default()), out);
        known
    }

    fn start(&mut self, now: Nanos) {
        let outcome = self.hooks.start(now);
        self.keep(outcome);
    }

    fn poll(&mut self, now: Nanos, out: &mut Actions) {
        if self.works() && self.due() <= now {
            let frames = self.hooks.on_timer(now);
            self.send(frames, out);
        }
        if let Some(text) = self.failure.get().filter(|_| !self.reported) {
            out.fail(text.clone());
            self.reported = true;
        }
    }

    fn due(&self) -> Nanos {
        if self.works()
            && let Some(due) = self.keep(self.hooks.deadline())
        {
            return due.unwrap_or(Nanos::MAX);
        }
        if self.reported { Nanos::MAX } else { 0 }
    }

    fn crash(&mut self) {
        let outcome = self.hooks.crash();
        self.keep(outcome);
    }

    fn leave(&mut self, now: Nanos) {
        let outcome = self.hooks.leave(now);
        self.keep(outcome);
    }

    fn has_left(&self) -> bool {
        !self.works() || self.keep(self.hooks.has_left()).unwrap_or(true)
    }

    fn take_counts(&mut self, into: &mut Counts) {
        self.add_gauges(into);
    }

    fn add_gauges(&self, into: &mut Counts) {
        if self.works() {
            into.extend(self.keep(self.hooks.gauges()).unwrap_or_default());
        }
    }
}
