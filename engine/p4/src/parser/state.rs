//! The state of the parser: the tokens that are left, errors, and how it goes on after one.

use netkv_ir::Span;

use crate::ast::Name;
use crate::diagnostics::Reporter;
use crate::token::{Token, TokenKind};

/// Maximum nesting depth of declarations, statements, expressions and types.
pub(super) const MAX_DEPTH: usize = 200;

/// Reserved words, which cannot be names.
const KEYWORDS: &[&str] = &[
    "abstract",
    "action",
    "apply",
    "bit",
    "bool",
    "const",
    "control",
    "default",
    "else",
    "enum",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "out",
    "package",
    "parser",
    "return",
    "select",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "typedef",
    "varbit",
    "void",
    "while",
];

/// Parsing failed, and the error was reported.
pub(super) struct ParseFailed;

pub(super) type ParseResult<T> = Result<T, ParseFailed>;

/// The state of the parser.
pub(super) struct Parser<'a> {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) reporter: &'a mut Reporter,
    /// Number of nested [`Parser::attempt`] calls, which report no errors.
    pub(super) suppress_errors: usize,
    pub(super) depth: usize,
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> &Token {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, count: usize) -> &Token {
        // The last token is Eof.
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    pub(super) fn span(&self) -> Span {
        self.peek().span
    }

    pub(super) fn at_end(&self) -> bool {
        self.peek().kind == TokenKind::Eof
    }

    pub(super) fn bump(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        token
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let found = self.peek().is(punct);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_word(word);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn error<T>(&mut self, span: Span, message: impl Into<String>) -> ParseResult<T> {
        if self.suppress_errors == 0 {
            self.reporter.error(span, message);
        }
        Err(ParseFailed)
    }

    /// Reports that the current token is not the expected one.
    pub(super) fn error_unexpected<T>(&mut self, expected: &str) -> ParseResult<T> {
        let token = self.peek().clone();
        if let TokenKind::Invalid(message) = &token.kind {
            return self.error(token.span, message.to_string());
        }
        self.error(token.span, format!("Expected {expected}, not {}.", token.describe()))
    }

    pub(super) fn expect(&mut self, punct: &str, whereabouts: &str) -> ParseResult<Span> {
        if self.peek().is(punct) {
            return Ok(self.bump().span);
        }
        self.error_unexpected(&format!("'{punct}' {whereabouts}"))
    }

    pub(super) fn parse_name(&mut self, what: &str) -> ParseResult<Name> {
        let token = self.peek().clone();
        match token.ident() {
            Some(text) if &**text == "_" => {
                let message = format!(
                    "Expected {what}; '_' is not a name, because it stands for a value without use."
                );
                self.error(token.span, message)
            }
            Some(text) if !KEYWORDS.contains(&&**text) => {
                self.bump();
                Ok(Name { text: text.clone(), span: token.span })
            }
            Some(text) => {
                let text = text.clone();
                self.error(token.span, format!("Expected {what}, but '{text}' is a keyword."))
            }
            None => self.error_unexpected(what),
        }
    }

    /// Runs `f` one nesting level deeper.
    pub(super) fn with_nesting<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return self
                .error(span, format!("The program is nested more than {MAX_DEPTH} deep here."));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Runs `f` without error reports. If it fails, returns to the token before.
    pub(super) fn attempt<T>(&mut self, f: impl FnOnce(&mut Self) -> ParseResult<T>) -> Option<T> {
        let (at, depth) = (self.at, self.depth);
        self.suppress_errors += 1;
        let result = f(self).ok();
        self.suppress_errors -= 1;
        self.depth = depth;
        if result.is_none() {
            self.at = at;
        }
        result
    }

    /// Parses items separated by commas, up to and including `close`.
    pub(super) fn parse_list<T>(
        &mut self,
        close: &str,
        mut f: impl FnMut(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(f(self)?);
            if self.eat(",") {
                continue;
            }
            if !self.peek().is(close) {
                return self.error_unexpected(&format!("',' or '{close}'"));
            }
        }
        Ok(items)
    }

    /// Skips to the end of a top-level declaration with an error.
    pub(super) fn recover_top_level(&mut self, from: usize) {
        let mut open = self.tokens[from..self.at].iter().fold(0i32, |n, t| n + nesting(t));
        if self.at == from {
            open += nesting(&self.bump());
        }
        while !self.at_end() {
            let token = self.bump();
            open += nesting(&token);
            if open <= 0 && (token.is(";") || token.is("}")) {
                return;
            }
        }
    }

    /// Skips to the end of an item with an error, which is in a block and started at `from`.
    /// Stops after a `;` of the item, or before the `}` of the block.
    pub(super) fn recover_in_block(&mut self, from: usize) {
        let mut open = self.tokens[from..self.at].iter().fold(0i32, |n, t| n + nesting(t));
        if self.at == from && !self.peek().is("}") {
            open += nesting(&self.bump());
        }
        while !self.at_end() {
            if open <= 0 && self.peek().is("}") {
                return;
            }
            let token = self.bump();
            open += nesting(&token);
            if open <= 0 && (token.is(";") || token.is("}")) {
                return;
            }
        }
    }
}

fn nesting(token: &Token) -> i32 {
    match token.kind {
        TokenKind::Punct("{") => 1,
        TokenKind::Punct("}") => -1,
        _ => 0,
    }
}
