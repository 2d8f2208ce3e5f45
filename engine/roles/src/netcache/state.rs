//! The state of keys in a server: of those with work under way, and of cached ones.

use std::collections::VecDeque;

use netkv_wire::{CacheMetadata, FrameView, Ip, Key, Op};

use crate::Nanos;
use crate::single_key::server::Write;

/// The part of a write's frame that is about the switch's entry.
#[derive(Debug)]
pub struct Tag {
    pub(super) metadata: Option<CacheMetadata>,
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
    /// The message in `frame`; `None` without cache metadata, which has the generation.
    pub(super) fn read(frame: &FrameView<'_>) -> Option<Self> {
        Some(Self {
            op: frame.op(),
            sender: frame.sender(),
            request: frame.request(),
            controller: frame.source(),
            generation: frame.cache_metadata()?.generation,
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
    /// The entry is outdated, and there is no record of it.
    Refresh,
}

/// The work under way for a key.
#[derive(Debug)]
pub enum Step {
    /// An INVALIDATE is pending.
    Invalidating(Cause),
    /// The value is read, to know its length for an ADMIT.
    Measuring(Control),
    /// The value is read, to push it.
    Fetching { metadata: CacheMetadata, install: Option<Control> },
    /// The write is stored; afterwards the value is pushed if `push` is set.
    Storing { write: Write<Tag>, push: Option<CacheMetadata> },
    /// An UPDATE is pending.
    Updating { metadata: CacheMetadata, value: Vec<u8>, install: Option<Control> },
}

/// Controller messages that wait for a key, and the hold of its writes.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Writes are held until this time (between ADMIT and INSTALL, with a lease).
    pub(super) held_until: Option<Nanos>,
    /// Messages of the controller, which precede writes: an INSTALL must overtake the writes that
    /// it releases.
    pub(super) controls: VecDeque<Control>,
}

/// The server's record of the entry of a key in the switch.
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
    /// The lease for holding the writes of this key may have ended.
    Lease(Key),
}
