//! Errors in STF files.

use std::fmt;

/// An error in an STF file, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StfError {
    /// Name of the file.
    pub name: String,
    /// Line from 1.
    pub line: usize,
    /// Message for the user.
    pub message: String,
}

impl StfError {
    pub(super) fn new(name: &str, line: usize, message: String) -> Self {
        Self { name: name.to_owned(), line, message: netkv_ir::shortened(message) }
    }
}

impl fmt::Display for StfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.name, self.line, self.message)
    }
}

impl std::error::Error for StfError {}
