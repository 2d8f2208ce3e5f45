//! Where the source text of a program comes from.

use std::path::{Path, PathBuf};

/// Compiler options, as on a command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Directories that `#include` searches, in order. `core.p4` and `v1model.p4` are built in.
    pub include_dirs: Vec<PathBuf>,
    /// Macros: name and value. The value is 1 if none is given.
    pub defines: Vec<(String, Option<String>)>,
}

/// The files that `#include` may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Includes {
    /// Any file, as for p4c.
    Any,
    /// Files below the searched directories: no absolute path, and none with `..`.
    BelowDirectories,
}

/// The text of a file. Bytes that are not UTF-8 are replaced: p4c accepts them in comments.
pub(crate) fn read_source(path: &Path) -> std::io::Result<String> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
