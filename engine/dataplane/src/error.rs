//! What can go wrong outside of a packet: a program that cannot run, a request that is refused.

use std::fmt;

/// A program that the data plane cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramError {
    message: String,
}

impl ProgramError {
    /// An error with this sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProgramError {}

/// Kind of a refused control-plane request; the names are gRPC's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum ControlCode {
    /// What the request names does not exist.
    NotFound,
    /// What it inserts is there already.
    AlreadyExists,
    /// It does not fit the program.
    InvalidArgument,
    /// An index beyond the end.
    OutOfRange,
    /// No room.
    ResourceExhausted,
    /// Not offered.
    Unimplemented,
    /// The program has fixed it.
    PermissionDenied,
    /// Something else has to happen first.
    FailedPrecondition,
}

/// A refused control-plane request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ControlError {
    /// Kind.
    pub code: ControlCode,
    /// A sentence for the user.
    pub message: String,
}

impl ControlError {
    pub(crate) fn new(code: ControlCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ControlCode::InvalidArgument, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ControlCode::NotFound, message)
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ControlError {}
