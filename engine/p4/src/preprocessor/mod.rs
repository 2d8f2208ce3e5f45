//! The preprocessor: what cpp does for p4c (`cpp -undef -x assembler-with-cpp`), then P4 tokens.
//!
//! ```text
//! source text
//!    │  characters      joined lines
//!    │  lexer           comments, preprocessing tokens of C
//!    │  directives      conditions (condition), files (include), macros (define)
//!    │  expand          macro expansion (substitute, builtins)
//! text with positions
//!    │  token           P4 tokens
//! ```
//!
//! A token has the position where the program has it. A token from the body of a macro has the
//! position where the program uses the macro.

mod builtins;
mod characters;
mod condition;
mod define;
mod directives;
mod expand;
mod include;
mod lexer;
mod substitute;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use netkv_ir::Span;

use self::define::Macro;
use self::directives::Conditional;
use self::expand::{Context, Reading};
use self::include::Marker;
use self::lexer::{Kind, Lexer, Token, would_join};
use crate::diagnostics::Reporter;
use crate::{Includes, Options, token};

/// A file that is being read.
struct Input {
    /// Path of the file.
    path: PathBuf,
    /// Index in the include directories of the one in which it was found.
    found_in: Option<usize>,
    text: Rc<str>,
    /// The last line behind which the text was asked for, and where that text begins.
    passed: (u32, usize),
    lexer: Lexer,
    /// The line that is being read.
    line: Vec<Token>,
    /// Index in `line` of the next token.
    at: usize,
    conditionals: Vec<Conditional>,
    marker: Option<Marker>,
}

impl Input {
    /// The text behind a line, which is asked for in the order of lines.
    fn text_after_line(&mut self, line: u32) -> &str {
        let (mut passed, mut at) = self.passed;
        while passed < line {
            at += self.text[at..].find('\n').map_or(self.text.len() - at, |length| length + 1);
            passed += 1;
        }
        self.passed = (passed, at);
        &self.text[at..]
    }
}

struct Preprocessor<'a> {
    reporter: &'a mut Reporter,
    options: &'a Options,
    includes: Includes,
    macros: HashMap<Rc<str>, Macro>,
    /// Macros by name that `#pragma push_macro` saved.
    saved_macros: HashMap<Rc<str>, Vec<Option<Macro>>>,
    /// Macros of the preprocessor itself that `#undef` removed.
    undefined: HashSet<Rc<str>>,
    /// Files with `#pragma once`, and those of `#import`.
    once: HashSet<PathBuf>,
    base_file: String,
    inputs: Vec<Input>,
    contexts: Vec<Context>,
    /// How often each macro is being expanded.
    disabled: HashMap<Rc<str>, usize>,
    /// Number of arguments and directives that are being expanded, in one another.
    depth: usize,
    /// Number of tokens that were read.
    tokens: usize,
    /// Length of the text that `#` and `##` made.
    text_bytes: usize,
    /// A limit was exceeded and reported.
    stopped: bool,
    /// Value of the next `__COUNTER__`.
    counter: u64,
    last_span: Span,
    /// End of the main file.
    file_end: Span,
    out: Output,
}

/// The preprocessed text.
#[derive(Default)]
struct Output {
    text: Vec<char>,
    /// Position of each character.
    spans: Vec<Span>,
    last: Option<Token>,
}

/// Preprocesses `text` and the files that it includes.
pub(crate) fn preprocess(
    name: &str,
    text: &str,
    options: &Options,
    includes: Includes,
    reporter: &mut Reporter,
) -> Vec<token::Token> {
    let (out, end) = run(name, text, options, includes, reporter);
    token::lex(&out.text, &out.spans, end)
}

/// The preprocessed text, and the position of the end of the main file.
fn run(
    name: &str,
    text: &str,
    options: &Options,
    includes: Includes,
    reporter: &mut Reporter,
) -> (Output, Span) {
    let mut pp = Preprocessor {
        reporter,
        options,
        includes,
        macros: HashMap::new(),
        saved_macros: HashMap::new(),
        undefined: HashSet::new(),
        once: HashSet::new(),
        base_file: name.to_string(),
        inputs: Vec::new(),
        contexts: Vec::new(),
        disabled: HashMap::new(),
        depth: 0,
        tokens: 0,
        text_bytes: 0,
        stopped: false,
        counter: 0,
        last_span: Span::default(),
        file_end: Span::default(),
        out: Output::default(),
    };
    let given = options.defines.iter().map(|(name, value)| (name.as_str(), value.as_deref()));
    for (name, value) in builtins::PREDEFINED.iter().map(|name| (*name, None)).chain(given) {
        let body = lexer::lex(value.unwrap_or("1")).into();
        pp.macros.insert(name.into(), Macro { params: None, body });
    }
    pp.open(name, None, text);
    loop {
        let token = pp.next_expanded();
        if token.kind == Kind::End {
            break;
        }
        pp.out.add(token);
    }
    (pp.out, pp.file_end)
}

impl Preprocessor<'_> {
    /// Starts to read a file.
    fn open(&mut self, path: &str, found_in: Option<usize>, text: &str) {
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
    fn next_in_files(&mut self, reading: Reading) -> Option<Token> {
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

impl Output {
    /// Adds a token, with white space before it where the program or cpp has some.
    fn add(&mut self, token: Token) {
        let space = token.space_before
            || token.boundary && self.last.as_ref().is_some_and(|last| would_join(last, &token));
        if token.starts_line || token.after_lines {
            self.push('\n', token.span);
        } else if space {
            self.push(' ', token.span);
        }
        let mut span = token.span;
        for c in token.text.chars() {
            self.push(c, span);
            span.column += u32::from(token.in_place);
        }
        self.last = Some(token);
    }

    fn push(&mut self, c: char, span: Span) {
        self.text.push(c);
        self.spans.push(span);
    }
}

#[cfg(test)]
mod tests;
