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

/// The name of the path of a case in which a program gets frames of all kinds. It is not measured.
/// The settings in the tables are those with which the frames take most ways through the program.
pub const ALL_KINDS: &str = "all-kinds";

/// Entries in that case. With few of them, many frames are about the same entry.
const ENTRIES_OF_ALL_KINDS: u32 = 50;

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

    /// The case in which the program of this case gets frames of all kinds.
    pub fn all_kinds(&self) -> Self {
        let entries = self.entries.min(ENTRIES_OF_ALL_KINDS);
        Self { path: ALL_KINDS.to_owned(), entries, ..self.clone() }
    }
}
