//! The preprocessed text.

use netkv_ir::Span;

use super::lexer::{Token, would_join};

/// The preprocessed text.
#[derive(Default)]
pub(super) struct Output {
    pub(super) text: Vec<char>,
    /// Position of each character.
    pub(super) spans: Vec<Span>,
    pub(super) last: Option<Token>,
}

impl Output {
    /// Adds a token, with white space before it where the program or cpp has some.
    pub(super) fn add(&mut self, token: Token) {
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
