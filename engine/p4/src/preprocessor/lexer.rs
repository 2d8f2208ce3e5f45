//! Translation phase 3: characters to preprocessing tokens, which are those of C.
//!
//! P4 tokens are made later, from the text of the preprocessing tokens (see `token`): `8w` is a
//! preprocessing number that `##` can complete, and `1..N` is one in which `N` is not a macro.

use std::rc::Rc;

use netkv_ir::Span;

use super::characters::{Character, characters, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Identifier,
    /// A preprocessing number: `1`, `8w0xFF`, `1.5`, `0x1e+3`.
    Number,
    /// A string with its quotation marks.
    Str,
    /// A character constant with its quotation marks.
    Char,
    /// `<file>` after `#include`.
    HeaderName,
    Punctuator,
    /// Another character.
    Other,
    /// In place of an empty argument of `##`.
    Placemarker,
    /// End of the tokens that a caller may read.
    End,
}

/// A preprocessing token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub kind: Kind,
    pub text: Rc<str>,
    /// Position in the program. A token of a macro's body has the position of the macro's use.
    pub span: Span,
    /// The text stands at `span`, so its later characters stand behind it.
    pub in_place: bool,
    /// First token of its line. A `#` there starts a directive.
    pub starts_line: bool,
    /// The comment before it spans lines: no new line of the preprocessor, but one of the text.
    pub after_lines: bool,
    pub space_before: bool,
    /// Macro expansion put it beside the token before it.
    pub boundary: bool,
    /// A name that is not expanded any more, because it occurred in its own expansion.
    pub painted: bool,
}

impl Token {
    pub fn new(kind: Kind, text: impl Into<Rc<str>>, span: Span) -> Self {
        Self {
            kind,
            text: text.into(),
            span,
            in_place: false,
            starts_line: false,
            after_lines: false,
            space_before: false,
            boundary: false,
            painted: false,
        }
    }

    /// True if the token is this punctuator.
    pub fn is(&self, punctuator: &str) -> bool {
        self.kind == Kind::Punctuator && &*self.text == punctuator
    }

    pub fn is_name(&self, name: &str) -> bool {
        self.kind == Kind::Identifier && &*self.text == name
    }

    pub fn identifier(&self) -> Option<&Rc<str>> {
        (self.kind == Kind::Identifier).then_some(&self.text)
    }

    /// Text for messages.
    pub fn describe(&self) -> String {
        match self.kind {
            Kind::Str => format!("string {}", self.text),
            _ => format!("'{}'", self.text),
        }
    }
}

/// The source text of tokens: one space where there is white space.
pub(super) fn spelling(tokens: &[Token]) -> String {
    let mut out = String::new();
    for token in tokens {
        if !out.is_empty() && (token.space_before || token.starts_line) {
            out.push(' ');
        }
        out.push_str(&token.text);
    }
    out
}

/// Punctuators of C, longest first.
const PUNCTUATORS: &[&str] = &[
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*=",
    "/=", "%=", "+=", "-=", "&=", "^=", "|=", "##", "[", "]", "(", ")", "{", "}", ".", "&", "*",
    "+", "-", "~", "!", "/", "%", "<", ">", "^", "|", "?", ":", ";", "=", ",", "#",
];

/// Directives whose operand can be `<file>`.
const INCLUDES: &[&str] = &["include", "include_next", "import"];

/// Reads a file line by line: how a line is read depends on the directives before it.
pub(super) struct Lexer {
    input: Vec<Character>,
    at: usize,
    file: u32,
    /// Strings of the line may span lines, as p4c allows.
    long_strings: bool,
    after_lines: bool,
    space_before: bool,
    line: Vec<Token>,
    /// Position of a comment without end.
    pub open_comment: Option<Span>,
}

/// The tokens of a text that is one line.
pub(super) fn lex(text: &str) -> Vec<Token> {
    Lexer::new(0, text).next_line(false)
}

/// The kind of the one token that this text is.
pub(super) fn single(text: &str) -> Option<Kind> {
    match lex(text).as_slice() {
        [token] if &*token.text == text => Some(token.kind),
        _ => None,
    }
}

impl Lexer {
    pub fn new(file: u32, text: &str) -> Self {
        Self {
            input: characters(text),
            at: 0,
            file,
            long_strings: false,
            after_lines: false,
            space_before: false,
            line: Vec::new(),
            open_comment: None,
        }
    }

    /// The tokens of the next line that has any; none at the end of the file. With `long_strings`,
    /// a string of a line that is no directive may go on in the next ones.
    pub fn next_line(&mut self, long_strings: bool) -> Vec<Token> {
        self.long_strings = long_strings;
        while self.at < self.input.len() {
            if self.peek(0) == '\n' {
                self.at += 1;
                self.space_before = true;
                if self.line.is_empty() {
                    continue;
                }
                break;
            }
            self.lex_one();
        }
        self.after_lines = false;
        std::mem::take(&mut self.line)
    }

    fn peek(&self, ahead: usize) -> char {
        self.input.get(self.at + ahead).map_or('\0', |c| c.value)
    }

    /// Adds the next `length` characters as a token.
    fn push(&mut self, kind: Kind, length: usize) {
        let end = (self.at + length).min(self.input.len());
        let found = &self.input[self.at..end];
        let (first, last) = (found[0], found[found.len() - 1]);
        let span = Span { file: self.file, line: first.line, column: first.column };
        self.line.push(Token {
            in_place: last.line == first.line,
            starts_line: self.line.is_empty(),
            after_lines: self.after_lines,
            space_before: self.space_before,
            ..Token::new(kind, text(found), span)
        });
        self.after_lines = false;
        self.space_before = false;
        self.at = end;
    }

    fn count(&self, from: usize, fits: impl Fn(char) -> bool) -> usize {
        self.input[(self.at + from).min(self.input.len())..]
            .iter()
            .take_while(|c| fits(c.value))
            .count()
    }

    fn lex_one(&mut self) {
        match self.peek(0) {
            c if c.is_whitespace() => {
                self.at += 1;
                self.space_before = true;
            }
            '/' if self.peek(1) == '/' => {
                self.at += self.count(0, |c| c != '\n');
                self.space_before = true;
            }
            '/' if self.peek(1) == '*' => self.comment(),
            '"' => self.quoted(0, '"', Kind::Str),
            '\'' => self.quoted(0, '\'', Kind::Char),
            // A wide constant: the prefix is part of the token, and no name of a macro.
            'L' if self.peek(1) == '\'' => self.quoted(1, '\'', Kind::Char),
            '<' if self.after_include() => {
                let length = self.count(0, |c| c != '>' && c != '\n');
                match self.peek(length) {
                    '>' => self.push(Kind::HeaderName, length + 1),
                    _ => self.punctuator(),
                }
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let length = self.count(0, |c| c.is_ascii_alphanumeric() || c == '_');
                self.push(Kind::Identifier, length);
            }
            c if c.is_ascii_digit() || (c == '.' && self.peek(1).is_ascii_digit()) => {
                self.number();
            }
            _ => self.punctuator(),
        }
    }

    /// True directly after `# include`, or after `__has_include(`.
    fn after_include(&self) -> bool {
        match self.line.as_slice() {
            [hash, word] if hash.is("#") => INCLUDES.contains(&&*word.text),
            [hash, .., word, open] if hash.is("#") => {
                open.is("(") && word.text.starts_with("__has_include")
            }
            _ => false,
        }
    }

    fn number(&mut self) {
        let mut length = 1;
        loop {
            let c = self.peek(length);
            let exponent = matches!(self.peek(length - 1), 'e' | 'E' | 'p' | 'P');
            if c.is_ascii_alphanumeric()
                || matches!(c, '_' | '.')
                || (exponent && matches!(c, '+' | '-'))
            {
                length += 1;
            } else {
                return self.push(Kind::Number, length);
            }
        }
    }

    fn comment(&mut self) {
        let from = self.input[self.at];
        self.at += 2;
        while self.at < self.input.len() {
            if self.peek(0) == '*' && self.peek(1) == '/' {
                self.at += 2;
                self.space_before = true;
                return;
            }
            self.after_lines |= self.peek(0) == '\n';
            self.at += 1;
        }
        let span = Span { file: self.file, line: from.line, column: from.column };
        self.open_comment.get_or_insert(span);
    }

    /// A string or a character constant behind a prefix of this length. Without its end on the
    /// line, prefix and mark stand alone.
    fn quoted(&mut self, prefix: usize, mark: char, kind: Kind) {
        let directive = self.line.first().is_some_and(|first| first.is("#"));
        let long = self.long_strings && kind == Kind::Str && !directive;
        let mut length = prefix + 1;
        loop {
            match self.peek(length) {
                '\n' if !long => return self.unended(prefix),
                '\0' if self.at + length >= self.input.len() => return self.unended(prefix),
                '\\' => length += 2,
                c if c == mark => return self.push(kind, length + 1),
                _ => length += 1,
            }
        }
    }

    /// A quotation mark without its end, behind a prefix of this length.
    fn unended(&mut self, prefix: usize) {
        if prefix > 0 {
            self.push(Kind::Identifier, prefix);
        }
        self.push(Kind::Other, 1);
    }

    fn punctuator(&mut self) {
        let fits = |p: &&&str| p.chars().enumerate().all(|(i, c)| self.peek(i) == c);
        match PUNCTUATORS.iter().find(fits) {
            Some(punctuator) => self.push(Kind::Punctuator, punctuator.len()),
            None => self.push(Kind::Other, 1),
        }
    }
}

/// True if the two tokens must not stand side by side in a text, because C reads them otherwise.
pub(super) fn would_join(left: &Token, right: &Token) -> bool {
    let c = match right.kind {
        Kind::Punctuator => right.text.chars().next().unwrap_or('\0'),
        _ => '\0',
    };
    match left.kind {
        Kind::Identifier => {
            matches!(right.kind, Kind::Identifier | Kind::Number | Kind::Char | Kind::Str)
        }
        Kind::Number => {
            matches!(right.kind, Kind::Identifier | Kind::Number | Kind::Char)
                || matches!(c, '.' | '+' | '-')
        }
        Kind::Punctuator => match &*left.text {
            "=" | "!" | "*" | "^" | "<<" | ">>" => c == '=',
            ">" => matches!(c, '=' | '>'),
            "<" => matches!(c, '=' | '<' | '%' | ':'),
            "+" => matches!(c, '=' | '+'),
            "-" => matches!(c, '=' | '-' | '>'),
            "/" => matches!(c, '=' | '/' | '*'),
            "%" => matches!(c, '=' | ':' | '%'),
            "&" => matches!(c, '=' | '&'),
            "|" => matches!(c, '=' | '|'),
            ":" => matches!(c, ':' | '>'),
            "." => matches!(c, '.' | '%') || right.kind == Kind::Number,
            "#" => matches!(c, '#' | '%'),
            _ => false,
        },
        _ => false,
    }
}
