//! Operations on a register, as clients observe them.

/// Identifies a request, and the value that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteId {
    /// Client id, from 1.
    pub client: u16,
    /// Request number.
    pub request: u32,
}

impl WriteId {
    /// The initial value of a key.
    pub const INITIAL: WriteId = WriteId { client: 0, request: 0 };
}

/// The kind of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Gives the key a value.
    Put,
    /// Removes the value.
    Delete,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// The value of this write.
    Value(WriteId),
    /// No value.
    NotFound,
    /// A value that no write can have written.
    Garbage,
}

/// An operation with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A write.
    Write(WriteKind),
    /// A put that was refused.
    Refused,
    /// A read with this result.
    Read(Observed),
}

/// The response of a pending operation, later than all events.
pub const NEVER: u64 = u64::MAX;

/// One operation, as an interval of timestamps (see [`crate::event_clock`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The request.
    pub id: WriteId,
    /// The operation and its result.
    pub action: Action,
    /// Its request was sent for the first time.
    pub invocation: u64,
    /// Its reply arrived; [`NEVER`] if it is pending.
    pub response: u64,
}
