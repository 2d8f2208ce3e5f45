//! The reason why a program has no machine code.

use std::fmt;

/// The reason why a program could not be compiled.
#[derive(Debug)]
pub(crate) struct CompileError(String);

impl CompileError {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }
}

impl<E: std::error::Error> From<E> for CompileError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
