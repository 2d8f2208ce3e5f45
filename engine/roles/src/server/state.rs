//! What a server remembers about keys: while something is under way, and while cached.

use std::collections::VecDeque;

use netkv_wire::{FrameView, Ip, Mark, Op};

use crate::Nanos;

/// A write of a client, from its arrival to its reply.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) op: Op,
    pub(super) sender: u16,
    pub(super) request: u32,
    pub(super) client: Ip,
    pub(super) mark: Option<Mark>,
    /// It has arrived in the guard time after the start.
    pub(super) guarded: bool,
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
    pub(super) key: netkv_wire::Key,
    pub(super) generation: u32,
    pub(super) attempts: u32,
}

/// Timers of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// This question may have to be asked again.
    Question(u32),
    /// Writes of this key may no longer have to be held.
    Lease(netkv_wire::Key),
}

/// What a storage call is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// A read of a client.
    Read { client: Ip, sender: u16, request: u32, key: netkv_wire::Key },
    /// The step of this key.
    Key(netkv_wire::Key),
}

/// The calls under way; their ids are reused.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Option<Call>>,
    free: Vec<u32>,
}

impl Calls {
    pub(super) fn add(&mut self, call: Call) -> u32 {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = Some(call);
            return id;
        }
        self.slots.push(Some(call));
        (self.slots.len() - 1) as u32
    }

    pub(super) fn take(&mut self, id: u32) -> Option<Call> {
        let call = self.slots.get_mut(id as usize)?.take();
        if call.is_some() {
            self.free.push(id);
        }
        call
    }
}
