//! The cases of the benchmark.

use std::path::PathBuf;

/// The executor that processes the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// The reference interpreter.
    Interpreter,
    /// Machine code, compiled when the program is loaded.
    Compiled,
    /// A handwritten pipeline in Rust for this program.
    Handwritten,
}

impl Executor {
    /// All executors, the slowest first.
    pub const ALL: [Executor; 3] =
        [Executor::Interpreter, Executor::Compiled, Executor::Handwritten];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Executor::Interpreter => "interpreter",
            Executor::Compiled => "compiled",
            Executor::Handwritten => "handwritten",
        }
    }
}

/// One path through one program, with its sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Name of the program ([`crate::Subject::name`]).
    pub program: String,
    /// Its file; none for a program that is part of the benchmark.
    pub file: Option<PathBuf>,
    /// Directories of `#include`, besides that of the file.
    pub include_dirs: Vec<PathBuf>,
    /// The path, e.g. `read-hit`.
    pub path: String,
    /// Number of cached keys; without a cache the number of requested keys.
    pub entries: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Bits of a key.
    pub key_width: u32,
    /// Number of pipelines of the switch. A frame may change to another pipeline for egress.
    pub pipelines: usize,
}

impl Case {
    /// The standard case of a path: 10,000 entries, values of 128 bytes, keys of 16 bytes, one
    /// pipeline.
    pub fn new(program: &str, path: &str) -> Self {
        Self {
            program: program.to_owned(),
            file: None,
            include_dirs: Vec::new(),
            path: path.to_owned(),
            entries: 10_000,
            value_size: 128,
            key_width: 128,
            pipelines: 1,
        }
    }
}
