//! Clients whose protocol is not written in Rust.

use std::fmt::Debug;

use netkv_wire::{FrameView, Key, Stamp};

use super::encoding::bytes_of;
use super::failure::{Failure, Outcome};
use crate::kits::single_key::client::{Protocol, Verdict};
use crate::options::ClientOptions;
use crate::{Actions, ClientConfig, Counts, Nanos};

/// The decisions of a protocol; see [`Protocol`] for each.
#[allow(clippy::missing_errors_doc)] // the sentence with which a hook fails
pub trait ClientHooks: Debug + Send + Sync + 'static {
    /// The stamp of a new request.
    fn stamp(&self) -> Outcome<Option<Stamp>>;
    /// Whether an answer is accepted.
    fn judge(&self, answer: &[u8], written: usize) -> Outcome<Verdict>;
    /// A read was answered.
    fn on_read(&mut self, answer: &[u8]) -> Outcome<()>;
    /// A write of this value, or a delete, was answered.
    fn on_written(&mut self, value: Option<&[u8]>, answer: &[u8]) -> Outcome<()>;
    /// Handles a frame that answers no request and returns the frames to send; none if it is not of
    /// the protocol.
    fn on_message(&mut self, now: Nanos, message: &[u8]) -> Outcome<Option<Vec<Vec<u8>>>>;
    /// The load starts or resumes.
    fn start(&mut self, now: Nanos) -> Outcome<()>;
    /// Handles the timers that are due; returns the frames to send.
    fn on_timer(&mut self, now: Nanos) -> Outcome<Vec<Vec<u8>>>;
    /// When to call [`ClientHooks::on_timer`].
    fn deadline(&self) -> Outcome<Option<Nanos>>;
    /// The process crashes and is restarted.
    fn crash(&mut self) -> Outcome<()>;
    /// The process is going to end.
    fn leave(&mut self, now: Nanos) -> Outcome<()>;
    /// Whether nothing is left to be sent after [`ClientHooks::leave`].
    fn has_left(&self) -> Outcome<bool>;
    /// The current gauges.
    fn gauges(&self) -> Outcome<Counts>;
}

/// The protocol of clients with these options.
///
/// # Errors
///
/// A sentence about an invalid setting.
pub fn client<H: ClientHooks>(hooks: H, options: &ClientOptions) -> Outcome<Foreign<H>> {
    options.load.check_window(crate::WINDOW, "a server")?;
    Ok(Foreign { hooks, failure: Failure::default() })
}

/// A protocol that hooks decide.
#[derive(Debug)]
pub struct Foreign<H> {
    hooks: H,
    /// Reported at the next poll, which is then due at once.
    failure: Failure,
}

impl<H: ClientHooks> Foreign<H> {
    fn send(&self, frames: Outcome<Vec<Vec<u8>>>, out: &mut Actions) {
        for frame in self.failure.keep(frames).unwrap_or_default() {
            out.send_written(|bytes| bytes.extend(frame));
        }
    }
}

impl<H: ClientHooks> Protocol for Foreign<H> {
    fn new(_: &ClientConfig) -> Outcome<Self> {
        unreachable!("`client` makes it with its hooks")
    }

    fn stamp(&self) -> Option<Stamp> {
        if self.failure.is_none() { self.failure.keep(self.hooks.stamp()).flatten() } else { None }
    }

    fn judge(&self, frame: &FrameView<'_>, written: usize) -> Verdict {
        let verdict = || {
            self.failure
                .keep(self.hooks.judge(&bytes_of(frame), written))
                .unwrap_or(Verdict::Ignore)
        };
        if self.failure.is_none() { verdict() } else { Verdict::Ignore }
    }

    fn on_read(&mut self, _: &Key, frame: &FrameView<'_>) {
        let outcome = self.hooks.on_read(&bytes_of(frame));
        self.failure.keep(outcome);
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
        self.failure.keep(outcome);
    }

    fn on_message(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) -> bool {
        let outcome = self.hooks.on_message(now, &bytes_of(frame));
        let frames = self.failure.keep(outcome).flatten();
        let known = frames.is_some();
        self.send(Ok(frames.unwrap_or_default()), out);
        known
    }

    fn start(&mut self, now: Nanos) {
        let outcome = self.hooks.start(now);
        self.failure.keep(outcome);
    }

    fn poll(&mut self, now: Nanos, out: &mut Actions) {
        if self.failure.is_none() && self.due() <= now {
            let frames = self.hooks.on_timer(now);
            self.send(frames, out);
        }
        self.failure.report(out);
    }

    fn due(&self) -> Nanos {
        if self.failure.is_none()
            && let Some(due) = self.failure.keep(self.hooks.deadline())
        {
            return due.unwrap_or(Nanos::MAX);
        }
        if self.failure.is_due() { 0 } else { Nanos::MAX }
    }

    fn crash(&mut self) {
        let outcome = self.hooks.crash();
        self.failure.keep(outcome);
    }

    fn leave(&mut self, now: Nanos) {
        let outcome = self.hooks.leave(now);
        self.failure.keep(outcome);
    }

    fn has_left(&self) -> bool {
        !self.failure.is_none() || self.failure.keep(self.hooks.has_left()).unwrap_or(true)
    }

    fn take_counts(&mut self, into: &mut Counts) {
        self.add_gauges(into);
    }

    fn add_gauges(&self, into: &mut Counts) {
        if self.failure.is_none() {
            into.extend(self.failure.keep(self.hooks.gauges()).unwrap_or_default());
        }
    }
}
