//! Files that are being read.

use std::path::PathBuf;
use std::rc::Rc;

use netkv_ir::Span;

use super::lexer::{Lexer, Token};

/// A file that is being read.
pub(super) struct Input {
    /// Path of the file.
    pub(super) path: PathBuf,
    /// Index in the include directories of the one in which it was found.
    pub(super) found_in: Option<usize>,
    pub(super) text: Rc<str>,
    /// The last line behind which the text was asked for, and where that text begins.
    pub(super) passed: (u32, usize),
    pub(super) lexer: Lexer,
    /// The line that is being read.
    pub(super) line: Vec<Token>,
    /// Index in `line` of the next token.
    pub(super) at: usize,
    pub(super) conditionals: Vec<Conditional>,
    pub(super) marker: Option<Marker>,
}

impl Input {
    /// The text behind a line, which is asked for in the order of lines.
    pub(super) fn text_after_line(&mut self, line: u32) -> &str {
        let (mut passed, mut at) = self.passed;
        while passed < line {
            at += self.text[at..].find('\n').map_or(self.text.len() - at, |length| length + 1);
            passed += 1;
        }
        self.passed = (passed, at);
        &self.text[at..]
    }
}

/// An `#if` whose `#endif` has not been reached.
pub(super) struct Conditional {
    pub span: Span,
    /// The current branch is compiled.
    pub active: bool,
    /// All later branches are skipped: one branch was active, or the enclosing text is skipped.
    pub(super) done: bool,
    pub(super) else_seen: bool,
}

/// The origin of the lines after a line marker.
pub(super) struct Marker {
    pub(super) file: u32,
    /// Number of the first line there.
    pub(super) line: u32,
    /// Line of the marker.
    pub(super) after: u32,
}

impl Marker {
    pub fn apply(&self, span: &mut Span) {
        span.file = self.file;
        span.line = (span.line + self.line).saturating_sub(self.after + 1);
    }
}
