//! What a server remembers about keys: while something is under way, and while cached.

use std::collections::VecDeque;

use netkv_wire::{FrameView, Ip, Key, Mark, Op};

use crate::Nanos;
use crate::single_key::server::Write;

/// What the frame of a write says about the switch's entry.
#[derive(Debug)]
pub struct Tag {
    pub(super) mark: Option<Mark>,
    /// It has arrived in the guard time after the start.
    pub(super) guarded: bool,
}

/// A message of the controller about a key, from its arrival to its reply.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    pub(super) op: Op,
    pub(super) sender: u16,
    pub(super) request: u32,
    pub(super) controller: Ip,
    pub(super) generation: u32,
}

impl Control {
    /// The message in `frame`; without a mark there is no generation, and it is none.
    pub(super) fn read(frame: &FrameView<'_>) -> Option<Self> {
        Some(Self {
            op: frame.op(),
            sender: frame.sender(),
            request: frame.request(),
            controller: frame.source(),
            generation: frame.mark()?.generation,
        })
    }
}

/// Why the switch's entry is being invalidated.
#[derive(Debug)]
pub enum Cause {
    /// A slow write, to be applied when the entry is invalid.
    Write(Write<Tag>),
    /// The entry is to be filled for the first time.
    Install(Control),
    /// The entry was found out of date, and nothing is known about it.
    Refresh,
}

/// What is under way for a key.
#[derive(Debug)]
pub enum Step {
    /// An INVALIDATE waits for its reply.
    Invalidating(Cause),
    /// The store is asked for the length of the value, for an ADMIT.
    Measuring(Control),
    /// The store is asked for the value, to push it.
    Fetching { mark: Mark, install: Option<Control> },
    /// The store is given a write; afterwards the value is pushed if `push` is there.
    Storing { write: Write<Tag>, push: Option<Mark> },
    /// An UPDATE waits for its reply.
    Updating { mark: Mark, value: Vec<u8>, install: Option<Control> },
}

/// What waits for a key beside writes.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Writes are held until then (between ADMIT and INSTALL, with a lease).
    pub(super) held_until: Option<Nanos>,
    /// Messages of the controller go before writes: an INSTALL must pass the writes it frees.
    pub(super) controls: VecDeque<Control>,
}

/// What the server knows about the entry of a key in the switch.
///
/// Invariant: if the switch may answer reads of a key, there is a record with the generation of
/// the entry, and no UPDATE with a version newer than `pushed` was ever sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) generation: u32,
    pub(super) pushed: u32,
    /// Request number of an OUTGROWN that the controller has not answered.
    pub(super) outgrown: Option<u32>,
}

/// Timers of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// This request may have to be sent again.
    Retry(u32),
    /// Writes of this key may no longer have to be held.
    Lease(Key),
}
