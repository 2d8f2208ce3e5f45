//! Errors: a program that cannot be loaded, and a rejected control-plane request.

use std::fmt;

/// The data plane cannot run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramError {
    message: String,
}

impl ProgramError {
    /// An error with this message.
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

/// Error code of a rejected control-plane request, with the names of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum ControlCode {
    /// The object does not exist.
    NotFound,
    /// The object to insert already exists.
    AlreadyExists,
    /// The request does not fit the program.
    InvalidArgument,
    /// An index is too large.
    OutOfRange,
    /// A table, profile or value set is full.
    ResourceExhausted,
    /// The switch does not support the request.
    Unimplemented,
    /// The program declares the object constant.
    PermissionDenied,
    /// The object is in use.
    FailedPrecondition,
}

/// A rejected control-plane request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ControlError {
    /// Error code.
    pub code: ControlCode,
    /// Message for the user.
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
