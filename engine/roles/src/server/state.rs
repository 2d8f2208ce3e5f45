//! What a server remembers about keys: while something is under way, and while cached.

use std::collections::VecDeque;

use netkv_wire::{FrameView, Ip, Key, Mark, Op, Sequence, Stamp, bits};

use super::tombstones::Tombstone;
use crate::Nanos;
use crate::slots::Slots;

/// A write of a client, or a RESTORE, from its arrival to its reply.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) op: Op,
    pub(super) sender: u16,
    pub(super) request: u32,
    pub(super) client: Ip,
    pub(super) mark: Option<Mark>,
    /// All 0 if it has none.
    pub(super) stamp: Stamp,
    /// It has arrived in the guard time after the start.
    pub(super) guarded: bool,
    pub(super) value: Vec<u8>,
}

impl Write {
    /// Whether the key has no value afterwards.
    pub(super) fn deletes(&self) -> bool {
        match self.op {
            Op::Restore => self.stamp.has(bits::DELETED),
            op => op == Op::Delete,
        }
    }
}

/// A stamped read of a client, a FETCH, or a copy of a write that tells what is stored now: it
/// waits for the store.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) op: Op,
    pub(super) asker: Ip,
    pub(super) sender: u16,
    pub(super) request: u32,
    pub(super) key: Key,
    pub(super) generation: u32,
    /// The switch has called the key hot.
    pub(super) hot: bool,
    /// The record that a read has brought along.
    pub(super) embedded: Option<Box<Embedded>>,
}

/// A record of the switch that may be newer than the stored one.
#[derive(Debug)]
pub(super) struct Embedded {
    pub(super) sequence: Sequence,
    pub(super) deleted: bool,
    pub(super) value: Vec<u8>,
}

/// A message of the controller about a key, from its arrival to its reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Control {
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
pub(super) enum Cause {
    /// A slow write, to be applied when the entry is invalid.
    Write(Write),
    /// The entry is to be filled for the first time.
    Install(Control),
    /// The entry was found out of date, and nothing is known about it.
    Refresh,
}

/// What is under way for a key. At most one thing is.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing.
    Idle,
    /// An INVALIDATE waits for its reply.
    Invalidating(Cause),
    /// The store is asked for the length of the value, for an ADMIT.
    Measuring(Control),
    /// The store is asked for the value, to push it.
    Fetching { mark: Mark, install: Option<Control> },
    /// The store is given a write; afterwards the value is pushed if `push` is there.
    Storing { write: Write, push: Option<Mark> },
    /// An UPDATE waits for its reply.
    Updating { mark: Mark, value: Vec<u8>, install: Option<Control> },
    /// The store is asked what it has, before a write.
    Looking(Write),
    /// The store is given a write that is newer than what it has.
    Writing(Write),
    /// The store is given the origin of a write that is not newer, and so has no effect.
    Noting(Write),
    /// The store is asked whether a tombstone is still there.
    Checking(Tombstone),
    /// The store drops a tombstone.
    Dropping(Tombstone),
}

/// A key for which something is under way, waits, or is held. Others take no memory.
#[derive(Debug)]
pub(super) struct KeyState {
    pub(super) step: Step,
    /// Writes are held until then (between ADMIT and INSTALL, with a lease).
    pub(super) held_until: Option<Nanos>,
    /// Messages of the controller go before writes: an INSTALL must pass the writes it frees.
    pub(super) controls: VecDeque<Control>,
    pub(super) writes: VecDeque<Write>,
}

impl KeyState {
    pub(super) const fn new() -> Self {
        Self {
            step: Step::Idle,
            held_until: None,
            controls: VecDeque::new(),
            writes: VecDeque::new(),
        }
    }
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

/// A question of the server that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    pub(super) op: Op,
    pub(super) key: Key,
    pub(super) generation: u32,
    pub(super) attempts: u32,
}

/// Timers of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// This question may have to be asked again.
    Question(u32),
    /// Writes of this key may no longer have to be held.
    Lease(Key),
    /// This key may be offered again.
    OfferAgain(Key),
    /// More tombstones may be dropped.
    Tombstones,
}

/// What a storage call is for.
#[derive(Debug)]
pub(super) enum Call {
    /// A read of a client.
    Read { client: Ip, sender: u16, request: u32, key: Key },
    /// What wants to know a record with its sequence.
    Query(Query),
    /// The step of this key.
    Key(Key),
}

/// The calls under way; their ids are reused.
pub(super) type Calls = Slots<Call>;
