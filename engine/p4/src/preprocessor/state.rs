//! The state of the preprocessor, and how it reads files.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use netkv_ir::Span;

use super::contexts::{Context, Reading};
use super::input::Input;
use super::lexer::{Lexer, Token};
use super::macros::Macro;
use super::output::Output;
use crate::diagnostics::Reporter;
use crate::sources::{Includes, Options};

/// The state of the preprocessor.
pub(super) struct Preprocessor<'a> {
    pub(super) reporter: &'a mut Reporter,
    pub(super) options: &'a Options,
    pub(super) includes: Includes,
    pub(super) macros: HashMap<Rc<str>, Macro>,
    /// Macros by name that `#pragma push_macro` saved.
    pub(super) saved_macros: HashMap<Rc<str>, Vec<Option<Macro>>>,
    /// Macros of the preprocessor itself that `#undef` removed.
    pub(super) undefined: HashSet<Rc<str>>,
    /// Files with `#pragma once`, and those of `#import`.
    pub(super) once: HashSet<PathBuf>,
    pub(super) base_file: String,
    pub(super) inputs: Vec<Input>,
    pub(super) contexts: Vec<Context>,
    /// How often each macro is being expanded.
    pub(super) disabled: HashMap<Rc<str>, usize>,
    /// Number of arguments and directives that are being expanded, in one another.
    pub(super) depth: usize,
    /// Number of tokens that were read.
    pub(super) tokens: usize,
    /// Length of the text that `#` and `##` made.
    pub(super) text_bytes: usize,
    /// A limit was exceeded and reported.
    pub(super) stopped: bool,
    /// Value of the next `__COUNTER__`.
    pub(super) counter: u64,
    pub(super) last_span: Span,
    /// End of the main file.
    pub(super) file_end: Span,
    pub(super) out: Output,
}

impl Preprocessor<'_> {
    /// Starts to read a file.
    pub(super) fn open(&mut self, path: &str, found_in: Option<usize>, text: &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = self.reporter.add_file(path, text);
        if self.inputs.is_empty() {
            let line = text.matches('\n').count() as u32 + 1;
            let column = text.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
            self.file_end = Span { file, line, column };
        }
        self.inputs.push(Input {
            path: path.into(),
            found_in,
            text: text.into(),
            passed: (0, 0),
            lexer: Lexer::new(file, text),
            line: Vec::new(),
            at: 0,
            conditionals: Vec::new(),
            marker: None,
        });
    }

    /// The next token of the files that is compiled, after the directives before it.
    pub(super) fn next_in_files(&mut self, reading: Reading) -> Option<Token> {
        while let Some(input) = self.inputs.last_mut() {
            let active = input.conditionals.last().is_none_or(|it| it.active);
            if input.at >= input.line.len() {
                input.line = input.lexer.next_line(active);
                input.at = 0;
            }
            let Some(token) = input.line.get(input.at) else {
                let ends = match reading {
                    Reading::Program => false,
                    Reading::Ahead => true,
                    Reading::Arguments(depth) => self.inputs.len() == depth,
                };
                if ends {
                    return None;
                }
                self.close();
                continue;
            };
            if token.starts_line && token.is("#") {
                if reading == Reading::Ahead {
                    return None;
                }
                let line = std::mem::take(&mut input.line);
                self.directive(&line);
                if self.stopped {
                    return None;
                }
            } else if active {
                input.at += 1;
                let mut token = token.clone();
                if let Some(marker) = &input.marker {
                    marker.apply(&mut token.span);
                }
                return Some(token);
            } else {
                input.line.clear();
            }
        }
        None
    }

    /// Ends the reading of the last file.
    fn close(&mut self) {
        let Some(input) = self.inputs.pop() else { return };
        if let Some(span) = input.lexer.open_comment {
            self.reporter.error(span, "This comment has no end; '*/' is missing.");
        }
        for conditional in input.conditionals {
            self.reporter.error(conditional.span, "This conditional has no '#endif'.");
        }
    }
}
