//! Operations on a register, as its clients see them.

/// Identifies a request, and the value that it writes: who, and the request number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteId {
    /// Client id, from 1.
    pub client: u16,
    /// Request number.
    pub request: u32,
}

impl WriteId {
    /// The value that a key has before anybody writes it.
    pub const INITIAL: WriteId = WriteId { client: 0, request: 0 };
}

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Gives the key a value.
    Put,
    /// Takes it away.
    Delete,
}

/// What a read returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// The value of this write.
    Value(WriteId),
    /// No value.
    NotFound,
    /// A value that nobody can have written.
    Garbage,
}

/// What an operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It wrote.
    Write(WriteKind),
    /// It read, and saw this.
    Read(Observed),
}

/// Later than everything: the end of an operation without answer.
pub const NEVER: u64 = u64::MAX;

/// One operation, between two moments (see [`crate::moments`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The request.
    pub id: WriteId,
    /// What it did.
    pub action: Action,
    /// When it was sent for the first time.
    pub begun: u64,
    /// When it was answered; [`NEVER`] without answer.
    pub ended: u64,
}
