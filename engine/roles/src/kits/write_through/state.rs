//! The state of keys in a server: of those with work under way, and of cached ones.

use std::collections::VecDeque;

use netkv_wire::{CacheMetadata, FrameView, Ip, Key, Op, Status};

use super::layers::{Layer, PerLayer};
use crate::Nanos;
use crate::kits::single_key::server::Write;

/// The versions with which a value is to be pushed: to these layers.
pub type Pushes = PerLayer<Option<CacheMetadata>>;

/// Request numbers of pending requests.
pub type Requests = PerLayer<Option<u32>>;

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
    pub(super) layer: Layer,
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
            layer: Layer::of(frame),
            generation: frame.cache_metadata()?.generation,
        })
    }
}

/// The answer to a message of the controller, for its copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlReply {
    pub(super) status: Status,
    pub(super) length: u16,
}

/// Why entries are being invalidated.
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
    /// INVALIDATEs are pending; `pushes` has the answers so far.
    Invalidating { cause: Cause, pending: Requests, pushes: Pushes },
    /// The value is read, to know its length for an ADMIT.
    Measuring(Control),
    /// The value is read, to push it.
    Fetching { pushes: Pushes, install: Option<Control> },
    /// The write is stored, and pushed afterwards.
    Storing { write: Write<Tag>, pushes: Pushes },
    /// UPDATEs are pending.
    Updating { pushes: Pushes, pending: Requests, value: Vec<u8>, install: Option<Control> },
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
pub(crate) struct Record {
    pub(super) generation: u32,
    pub(super) pushed: u32,
    /// Request number of an OUTGROWN that the controller has not answered.
    pub(super) outgrown: Option<u32>,
}

/// Timers of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The server has started: it reports that to the controller.
    Start,
    /// This request may have to be sent again.
    Retry(u32),
    /// The lease for holding the writes of this key may have ended.
    Lease(Key),
}
