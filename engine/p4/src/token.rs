//! Tokens and the lexer.

use std::rc::Rc;

use netkv_ir::Span;
use num_bigint::BigInt;

/// Widest value that the front end accepts, in bits.
pub(crate) const MAX_WIDTH: u32 = 16_384;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tok {
    /// Identifier or keyword.
    Ident(Rc<str>),
    /// Number; width and signedness if it has them (`8w1`, `4s-...`).
    Int { value: BigInt, width: Option<(u32, bool)>, text: Rc<str> },
    /// String literal, escapes resolved.
    Str(Rc<str>),
    /// Operator or punctuation.
    Punct(&'static str),
    /// Not a token of P4; the sentence that says why.
    Bad(Rc<str>),
    /// End of the input.
    Eof,
}

/// A token with its place.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub tok: Tok,
    pub span: Span,
    /// First of its line: a `#` there starts a directive.
    pub first: bool,
    /// White space before it.
    pub space: bool,
}

impl Token {
    /// Is it this operator or punctuation?
    pub fn is(&self, punct: &str) -> bool {
        matches!(self.tok, Tok::Punct(p) if p == punct)
    }

    /// Is it this word?
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.tok, Tok::Ident(t) if &**t == word)
    }

    /// The identifier.
    pub fn ident(&self) -> Option<&Rc<str>> {
        match &self.tok {
            Tok::Ident(text) => Some(text),
            _ => None,
        }
    }

    /// As it was written, for hashes and annotations.
    pub fn text(&self) -> String {
        match &self.tok {
            Tok::Ident(t) => t.to_string(),
            Tok::Int { text, .. } => text.to_string(),
            Tok::Str(t) => format!("{t:?}"),
            Tok::Punct(p) => (*p).to_string(),
            Tok::Bad(_) => "?".to_string(),
            Tok::Eof => String::new(),
        }
    }

    /// As an error names it.
    pub fn describe(&self) -> String {
        match &self.tok {
            Tok::Eof => "the end of the file".to_string(),
            Tok::Str(t) => format!("string {t:?}"),
            _ => format!("'{}'", self.text()),
        }
    }
}

/// Longest first, so that the first that fits is the right one. `>>` is put together by the
/// parser from two `>`: in `register<bit<8>>` they are two.
const PUNCTS: &[&str] = &[
    "|+|=", "|-|=", "&&&", "...", "<<=", "|+|", "|-|", "..", "++", "&&", "||", "==", "!=", "<=",
    ">=", "<<", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", "(", ")", "[", "]", "{", "}",
    "<", ">", ",", ";", ":", ".", "=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "?", "@",
    "#",
];

struct Lexer {
    chars: Vec<char>,
    at: usize,
    span: Span,
    first: bool,
    space: bool,
    out: Vec<Token>,
}

/// Cuts a file into tokens. Never fails: what is no token becomes [`Tok::Bad`].
pub(crate) fn lex(file: u32, text: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
        span: Span { file, line: 1, column: 1 },
        first: true,
        space: false,
        out: Vec::new(),
    };
    lexer.run();
    lexer.out
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn bump(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        if c == '\n' {
            self.span.line += 1;
            self.span.column = 1;
        } else {
            self.span.column += 1;
        }
        c
    }

    fn push(&mut self, tok: Tok, span: Span) {
        self.out.push(Token { tok, span, first: self.first, space: self.space });
        self.first = false;
        self.space = false;
    }

    fn run(&mut self) {
        while self.at < self.chars.len() {
            let span = self.span;
            let c = self.peek(0);
            match c {
                '\\' if self.peek(1) == '\n' => {
                    self.bump();
                    self.bump();
                    self.space = true;
                }
                '\\' if self.peek(1) == '\r' && self.peek(2) == '\n' => {
                    self.bump();
                    self.bump();
                    self.bump();
                    self.space = true;
                }
                '\n' => {
                    self.bump();
                    self.first = true;
                    self.space = true;
                }
                c if c.is_whitespace() => {
                    self.bump();
                    self.space = true;
                }
                '/' if self.peek(1) == '/' => {
                    while self.at < self.chars.len() && self.peek(0) != '\n' {
                        self.bump();
                    }
                }
                '/' if self.peek(1) == '*' => self.comment(span),
                '"' => self.string(span),
                c if c.is_ascii_digit() => self.number(span),
                c if c.is_ascii_alphabetic() || c == '_' => {
                    let text = self.word();
                    self.push(Tok::Ident(text), span);
                }
                _ => self.punct(span),
            }
        }
        self.first = true;
        self.push(Tok::Eof, self.span);
    }

    fn comment(&mut self, span: Span) {
        self.bump();
        self.bump();
        while self.at < self.chars.len() {
            if self.peek(0) == '*' && self.peek(1) == '/' {
                self.bump();
                self.bump();
                self.space = true;
                return;
            }
            self.bump();
        }
        self.push(Tok::Bad("This comment has no end; '*/' is missing.".into()), span);
    }

    fn string(&mut self, span: Span) {
        self.bump();
        let mut text = String::new();
        loop {
            if self.at >= self.chars.len() || self.peek(0) == '\n' {
                self.push(Tok::Bad("This string has no end; '\"' is missing.".into()), span);
                return;
            }
            match self.bump() {
                '"' => break,
                '\\' => match self.bump() {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    c => text.push(c),
                },
                c => text.push(c),
            }
        }
        self.push(Tok::Str(text.into()), span);
    }

    fn word(&mut self) -> Rc<str> {
        let from = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
            self.bump();
        }
        self.chars[from..self.at].iter().collect::<String>().into()
    }

    fn number(&mut self, span: Span) {
        let text = self.word();
        let tok = parse_number(&text).unwrap_or_else(|message| Tok::Bad(message.into()));
        self.push(tok, span);
    }

    fn punct(&mut self, span: Span) {
        for punct in PUNCTS {
            if punct.chars().enumerate().all(|(i, c)| self.peek(i) == c) {
                for _ in 0..punct.len() {
                    self.bump();
                }
                self.push(Tok::Punct(punct), span);
                return;
            }
        }
        let c = self.bump();
        self.push(Tok::Bad(format!("{c:?} is not a character of P4.").into()), span);
    }
}

/// `[width w|s] [0x|0d|0o|0b] digits`.
fn parse_number(text: &str) -> Result<Tok, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (width, rest) = match text.as_bytes().get(digits) {
        Some(sign @ (b'w' | b's')) => {
            let width: u32 = text[..digits].parse().unwrap_or(u32::MAX);
            if width == 0 || width > MAX_WIDTH {
                return Err(format!(
                    "A width of {} bits is out of range; 1 to {MAX_WIDTH} are possible.",
                    &text[..digits]
                ));
            }
            (Some((width, *sign == b's')), &text[digits + 1..])
        }
        _ => (None, text),
    };
    let (radix, body) = match rest.get(..2) {
        Some("0x" | "0X") => (16, &rest[2..]),
        Some("0d" | "0D") => (10, &rest[2..]),
        Some("0o" | "0O") => (8, &rest[2..]),
        Some("0b" | "0B") => (2, &rest[2..]),
        _ => (10, rest),
    };
    let plain: String = body.chars().filter(|c| *c != '_').collect();
    let value = if plain.len() > MAX_WIDTH as usize {
        None
    } else {
        BigInt::parse_bytes(plain.as_bytes(), radix)
    };
    match value {
        Some(value) => Ok(Tok::Int { value, width, text: text.into() }),
        None => Err(format!("'{text}' is not a number; 10, 0x0A, 0b1010, 8w10 or 8s10 are.")),
    }
}
