//! What a protocol of single keys adds to its clients.

use std::fmt::Debug;

use netkv_wire::{FrameView, Key, Stamp};

#[cfg(feature = "mutations")]
use crate::Mutation;
use crate::{Actions, ClientConfig, Counts, Nanos};

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It counts.
    Accept,
    /// It does not: the request goes on, and is sent again.
    Ignore,
    /// No switch answers like that.
    Malformed,
}

/// A protocol, with what a client process of it keeps beside requests. As it stands, requests have
/// no stamp, every answer counts, and there are no messages but requests and answers.
pub trait Protocol: Debug + Send + Sync + Sized + 'static {
    /// The state of a process that starts.
    ///
    /// # Errors
    ///
    /// A sentence about a setting that the protocol does not allow.
    fn new(config: &ClientConfig) -> Result<Self, String>;

    /// What a request is stamped with that is sent for the first time now.
    fn stamp(&self) -> Option<Stamp> {
        None
    }

    /// Whether an answer counts. `written` is the length of the value of a write.
    fn judge(&self, _frame: &FrameView<'_>, _written: usize) -> Verdict {
        Verdict::Accept
    }

    /// A read of `key` was answered.
    fn on_read(&mut self, _key: &Key, _frame: &FrameView<'_>) {}

    /// A write of `key` was answered; `fill` writes its value, of this length. None: a delete.
    fn on_written(
        &mut self,
        _key: &Key,
        _length: Option<u16>,
        _fill: impl FnOnce(&mut [u8]),
        _frame: &FrameView<'_>,
    ) {
    }

    /// Takes a frame that answers no request; false if it is none that is expected.
    fn on_message(&mut self, _now: Nanos, _frame: &FrameView<'_>, _out: &mut Actions) -> bool {
        false
    }

    /// The load starts or goes on.
    fn start(&mut self, _now: Nanos) {}

    /// Does what is due.
    fn poll(&mut self, _now: Nanos, _out: &mut Actions) {}

    /// When to call [`Protocol::poll`]; `Nanos::MAX` for never.
    fn due(&self) -> Nanos {
        Nanos::MAX
    }

    /// The process crashes and another one starts in its place.
    fn crash(&mut self) {}

    /// The process is going to end.
    fn leave(&mut self, _now: Nanos) {}

    /// Whether nothing is left to be sent after [`Protocol::leave`].
    fn has_left(&self) -> bool {
        true
    }

    /// Appends counts since the last call, and gauges.
    fn take_counts(&mut self, _into: &mut Counts) {}

    /// Appends what the process holds now.
    fn add_gauges(&self, _into: &mut Counts) {}

    /// Takes a protection out. For tests.
    #[cfg(feature = "mutations")]
    fn mutate(&mut self, _mutation: Mutation) {}
}
