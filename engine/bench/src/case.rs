//! What is measured.

use std::path::PathBuf;

/// What runs the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// The reference, step by step.
    Interpreter,
    /// Machine code made when the program is loaded.
    Compiled,
    /// Rust written by hand for this one program.
    Handwritten,
}

impl Executor {
    /// All of them, the slowest first.
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
    /// The program without its ending.
    pub program: String,
    /// Its file; none for a program that the benchmark brings with it.
    pub file: Option<PathBuf>,
    /// Where `#include` looks beside the file's directory.
    pub include_dirs: Vec<PathBuf>,
    /// The path, e.g. `read-hit`.
    pub path: String,
    /// Keys in the cache, or keys that are asked for where there is no cache.
    pub entries: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Bits of a key.
    pub key_width: u32,
    /// Pipelines of the switch. Where a frame leaves by another than it came in by, it crosses over.
    pub pipelines: usize,
}

impl Case {
    /// The case that a program's figure is about: 10,000 entries, values of 128 bytes, keys of 16,
    /// one pipeline.
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
