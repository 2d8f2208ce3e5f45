//! The error of a benchmark.

use std::fmt;

/// A sentence: the case is impossible, the program does not compile, or its frames do not take the
/// path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchError(String);

impl BenchError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BenchError {}

impl From<netkv_dataplane::ControlError> for BenchError {
    fn from(error: netkv_dataplane::ControlError) -> Self {
        Self(format!("The benchmark cannot fill the switch: {error}"))
    }
}

impl From<netkv_dataplane::ProgramError> for BenchError {
    fn from(error: netkv_dataplane::ProgramError) -> Self {
        Self(format!("The program cannot run: {error}"))
    }
}
