//! Recursive-descent parser: turns tokens into the syntax tree.
//!
//! After an error, it continues after the next `;` or `}`. Each module parses one kind of syntax.

mod decl;
mod expr;
mod stmt;
mod table;
mod types;

use netkv_ir::Span;

use crate::ast::{Annotation, Decl, Name};
use crate::diagnostics::Reporter;
use crate::token::{Token, TokenKind};

/// Maximum nesting depth of declarations, statements, expressions and types.
const MAX_DEPTH: usize = 200;

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

/// Annotations whose bodies are parsed as expressions.
const EXPR_ANNOTATIONS: &[&str] = &["field_list", "id", "priority"];

/// Annotations whose bodies are lists of `key = value`.
const PAIR_ANNOTATIONS: &[&str] = &["pkginfo", "platform_property"];

/// Parsing failed, and the error was reported.
pub(crate) struct ParseFailed;

pub(crate) type ParseResult<T> = Result<T, ParseFailed>;

pub(crate) struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    reporter: &'a mut Reporter,
    /// Number of nested [`Parser::attempt`] calls, which report no errors.
    suppress_errors: usize,
    depth: usize,
}

/// Parses a preprocessed program.
pub(crate) fn parse(tokens: Vec<Token>, reporter: &mut Reporter) -> Vec<Decl> {
    let mut parser = Parser { tokens, at: 0, reporter, suppress_errors: 0, depth: 0 };
    let mut decls = Vec::new();
    while !parser.at_end() {
        if parser.eat(";") {
            continue;
        }
        let from = parser.at;
        match parser.parse_top_level() {
            Ok(decl) => decls.push(decl),
            Err(ParseFailed) => {
                parser.depth = 0;
                parser.recover_top_level(from);
            }
        }
    }
    decls
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &Token {
        // The last token is Eof.
        &self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.peek().span
    }

    fn at_end(&self) -> bool {
        self.peek().kind == TokenKind::Eof
    }

    fn bump(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, punct: &str) -> bool {
        let found = self.peek().is(punct);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_word(word);
        if found {
            self.bump();
        }
        found
    }

    fn error<T>(&mut self, span: Span, message: impl Into<String>) -> ParseResult<T> {
        if self.suppress_errors == 0 {
            self.reporter.error(span, message);
        }
        Err(ParseFailed)
    }

    /// Reports that the current token is not the expected one.
    fn error_unexpected<T>(&mut self, expected: &str) -> ParseResult<T> {
        let token = self.peek().clone();
        if let TokenKind::Invalid(message) = &token.kind {
            return self.error(token.span, message.to_string());
        }
        self.error(token.span, format!("Expected {expected}, not {}.", token.describe()))
    }

    fn expect(&mut self, punct: &str, whereabouts: &str) -> ParseResult<Span> {
        if self.peek().is(punct) {
            return Ok(self.bump().span);
        }
        self.error_unexpected(&format!("'{punct}' {whereabouts}"))
    }

    fn parse_name(&mut self, what: &str) -> ParseResult<Name> {
        let token = self.peek().clone();
        match token.ident() {
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
    fn with_nesting<T>(&mut self, f: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
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
    fn attempt<T>(&mut self, f: impl FnOnce(&mut Self) -> ParseResult<T>) -> Option<T> {
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
    fn parse_list<T>(
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
    fn recover_top_level(&mut self, from: usize) {
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
    fn recover_in_block(&mut self, from: usize) {
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

    /// Parses the body of `@p4runtime_translation("uri", bit<W>)`, after the `(`. The second part is
    /// `string`, too, or a width alone.
    fn parse_translation(&mut self) -> ParseResult<(std::rc::Rc<str>, Option<u32>)> {
        let TokenKind::Str(uri) = self.peek().kind.clone() else {
            return self.error_unexpected("a string, the URI of the translation");
        };
        self.bump();
        self.expect(",", "after the URI of the translation")?;
        if self.eat_word("string") {
            return Ok((uri, None));
        }
        let bits = self.eat_word("bit");
        if bits {
            self.expect("<", "after 'bit'")?;
        }
        let TokenKind::Int { value, .. } = self.peek().kind.clone() else {
            return self.error_unexpected("'bit<W>' with a number, or 'string'");
        };
        let Ok(width) = u32::try_from(value) else {
            return self.error_unexpected("a width");
        };
        self.bump();
        if bits {
            self.expect(">", "after the width")?;
        }
        Ok((uri, Some(width)))
    }

    fn parse_annotations(&mut self) -> ParseResult<Vec<Annotation>> {
        let mut found = Vec::new();
        while self.peek().is("@") {
            let span = self.bump().span;
            let token = self.bump();
            let Some(name) = token.ident().cloned() else {
                return self.error(token.span, "Expected the name of an annotation after '@'.");
            };
            let mut text = format!("@{name}");
            let (mut string, mut exprs, mut pairs) = (None, Vec::new(), Vec::new());
            let mut translation = None;
            let structured = self.peek().is("[");
            let close = if structured { "]" } else { ")" };
            if self.peek().is("(") || self.peek().is("[") {
                let start = self.at;
                let mut open = 0;
                loop {
                    if self.at_end() {
                        return self.error(span, "The body of this annotation has no end.");
                    }
                    let token = self.bump();
                    text.push_str(&token.text());
                    if let (TokenKind::Str(s), None) = (&token.kind, &string) {
                        string = Some(s.clone());
                    }
                    match token.kind {
                        TokenKind::Punct("(" | "[" | "{") => open += 1,
                        TokenKind::Punct(")" | "]" | "}") => open -= 1,
                        _ => {}
                    }
                    if open == 0 {
                        break;
                    }
                }
                let end = self.at;
                self.at = start + 1;
                if &*name == "p4runtime_translation" {
                    translation = Some(self.parse_translation()?);
                } else if PAIR_ANNOTATIONS.contains(&&*name)
                    || structured && self.ahead(1).is("=") && !self.peek().is("]")
                {
                    pairs = self.parse_list(close, |p| {
                        let key = p.parse_name("the key of a value")?;
                        p.expect("=", "after the key of a value")?;
                        Ok((key, p.parse_expr()?))
                    })?;
                } else if structured || EXPR_ANNOTATIONS.contains(&&*name) {
                    exprs = self.parse_list(close, Self::parse_expr)?;
                }
                self.at = end;
            }
            found.push(Annotation {
                name,
                string,
                exprs,
                pairs,
                structured,
                translation,
                text,
                span,
            });
        }
        Ok(found)
    }
}

fn nesting(token: &Token) -> i32 {
    match token.kind {
        TokenKind::Punct("{") => 1,
        TokenKind::Punct("}") => -1,
        _ => 0,
    }
}
