//! The output of a role: frames to send and storage calls, in one reused buffer, or a fatal error.

use netkv_wire::{Key, Message, Sequence, write_frame};

use crate::Origin;

/// Identifies a storage call of one server until its result is returned.
pub type CallId = u32;

/// What a storage call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOp {
    /// Read the value of a key.
    Get,
    /// Write the value of a key.
    Put,
    /// Delete a key.
    Delete,
}

/// A call to the storage back end. Calls may run in batches and finish in any order: a server
/// never has two writes of one key under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreCall<'a> {
    /// The driver returns it with the result.
    pub id: CallId,
    /// The operation.
    pub op: StoreOp,
    /// The key of the record.
    pub key: Key,
    /// The key under which a store of plain keys and values keeps the record; empty if that is
    /// `key`. Records are identified by `key` alone.
    pub name: &'a [u8],
    /// The value to put; empty otherwise.
    pub value: &'a [u8],
    /// The request that this call carries out, if it is a write of a client. The store records it
    /// (see [`crate::Applied`]) in the same step as the call. A get has an origin if it replaces a
    /// write without effect.
    pub origin: Option<Origin>,
    /// The sequence of the write, in a write-back scheme. A put stores it with the record, and a
    /// delete stores it alone, as a *tombstone*. Without it, a put stores a record without a
    /// sequence, and a delete leaves nothing.
    pub sequence: Option<Sequence>,
}

impl StoreCall<'_> {
    /// A read of the store without an origin.
    pub const fn get(id: CallId, key: Key) -> Self {
        let (name, value): (&[u8], &[u8]) = (&[], &[]);
        Self { id, op: StoreOp::Get, key, name, value, origin: None, sequence: None }
    }
}

/// How a storage call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreResult<'a> {
    /// A get found this value and the sequence of its write; all 0 if it was stored without one.
    Value(&'a [u8], Sequence),
    /// A get found no value. The sequence is that of the tombstone; all 0 if there is none.
    NotFound(Sequence),
    /// A put or delete is done, as durable as the store promises.
    Done,
    /// The store failed; nothing has changed.
    Failed,
}

struct RawCall {
    id: CallId,
    op: StoreOp,
    key: Key,
    /// Offsets in the bytes: start of the name, start of the value, end of the value.
    parts: (usize, usize, usize),
    origin: Option<Origin>,
    sequence: Option<Sequence>,
}

/// Collects what must happen next. A driver clears it, hands it to a role, and carries it out.
#[derive(Default)]
pub struct Actions {
    bytes: Vec<u8>,
    frames: Vec<(usize, usize)>,
    calls: Vec<RawCall>,
    failure: Option<String>,
}

impl Actions {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes frames and calls; keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
        self.calls.clear();
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.calls.is_empty()
    }

    /// Removes the storage calls only: they have been made, and the frames are yet to be sent.
    pub fn clear_calls(&mut self) {
        self.calls.clear();
    }

    /// Where the frames to send, in order, start and end in [`Actions::bytes`].
    pub fn ranges(&self) -> &[(usize, usize)] {
        &self.frames
    }

    /// The memory of frames and values.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Frames to send, in order.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.frames.iter().map(|&(start, end)| &self.bytes[start..end])
    }

    /// Storage calls to make, in order.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = StoreCall<'_>> {
        self.calls.iter().map(|call| StoreCall {
            id: call.id,
            op: call.op,
            key: call.key,
            name: &self.bytes[call.parts.0..call.parts.1],
            value: &self.bytes[call.parts.1..call.parts.2],
            origin: call.origin,
            sequence: call.sequence,
        })
    }

    /// Adds a frame to send.
    pub fn send(&mut self, message: &Message<'_>) {
        self.send_written(|bytes| {
            write_frame(bytes, message);
        });
    }

    /// Adds a frame to send, which `write` appends.
    pub fn send_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.frames.push((start, self.bytes.len()));
    }

    /// Adds a storage call.
    pub fn call(&mut self, call: &StoreCall<'_>) {
        let StoreCall { id, op, key, origin, sequence, .. } = *call;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(call.name);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(call.value);
        let parts = (start, middle, self.bytes.len());
        self.calls.push(RawCall { id, op, key, parts, origin, sequence });
    }

    /// Reports a fatal error: a sentence without a full stop. The first one is kept. A driver that
    /// finds one ends the node or the run.
    pub fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
    }

    /// Takes the fatal error, if there is one.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// Adds a read of the store.
    pub fn get(&mut self, id: CallId, key: Key) {
        self.call(&StoreCall::get(id, key));
    }
}
