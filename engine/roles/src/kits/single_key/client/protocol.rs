//! The interface of a protocol of single keys for its clients.

use std::fmt::Debug;

use netkv_wire::{FrameView, Key, Message, Stamp};

use crate::{Actions, ClientConfig, Counts, Nanos, WINDOW};

/// What the client does with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The request has ended.
    Accept,
    /// The answer is ignored: the request stays pending, and is sent again.
    Ignore,
    /// No switch sends such an answer.
    Malformed,
}

/// A protocol, with the state of a client process beside requests. By default, requests have no
/// stamp, every answer is accepted, and there are no messages beside requests and answers.
pub trait Protocol: Debug + Send + Sync + Sized + 'static {
    /// The window of its clients: the requests of a client that are remembered, so that copies of
    /// them are detected.
    const WINDOW: u32 = WINDOW;

    /// The state of a process that starts.
    ///
    /// # Errors
    ///
    /// A sentence about a setting that the protocol does not allow.
    fn new(config: &ClientConfig) -> Result<Self, String>;

    /// Sends a request.
    fn send(&self, message: &Message<'_>, out: &mut Actions) {
        out.send(message);
    }

    /// The frame of netkv for one that has arrived, for which there is a buffer.
    fn receive<'a>(bytes: &'a [u8], _buffer: &'a mut Vec<u8>) -> &'a [u8] {
        bytes
    }

    /// The stamp of a request that is sent for the first time now.
    fn stamp(&self) -> Option<Stamp> {
        None
    }

    /// The stamp of a write that is to take effect only if its key is unchanged since it was last
    /// read; `None` if the protocol has none, or the key was not read: then the write is
    /// unconditional.
    fn condition(&mut self, _key: &Key) -> Option<Stamp> {
        None
    }

    /// Whether an answer is accepted. `written` is the length of the value of a write.
    fn judge(&self, _frame: &FrameView<'_>, _written: usize) -> Verdict {
        Verdict::Accept
    }

    /// A request was answered, with any status.
    fn on_answer(&mut self, _frame: &FrameView<'_>) {}

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

    /// Handles a frame that answers no request; false if it is unexpected.
    fn on_message(&mut self, _now: Nanos, _frame: &FrameView<'_>, _out: &mut Actions) -> bool {
        false
    }

    /// The load starts or resumes.
    fn start(&mut self, _now: Nanos) {}

    /// Handles the timers that are due.
    fn poll(&mut self, _now: Nanos, _out: &mut Actions) {}

    /// When to call [`Protocol::poll`]; `Nanos::MAX` for never.
    fn due(&self) -> Nanos {
        Nanos::MAX
    }

    /// The process crashes and is restarted.
    fn crash(&mut self) {}

    /// The process is going to end.
    fn leave(&mut self, _now: Nanos) {}

    /// Whether nothing is left to be sent after [`Protocol::leave`].
    fn has_left(&self) -> bool {
        true
    }

    /// Appends counts since the last call, and gauges.
    fn take_counts(&mut self, _into: &mut Counts) {}

    /// Appends the current gauges.
    fn add_gauges(&self, _into: &mut Counts) {}
}
