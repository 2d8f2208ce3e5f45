//! The lexer: splits preprocessed text into tokens.

use std::rc::Rc;

use netkv_ir::Span;
use num_bigint::BigInt;

/// Maximum width of a value, in bits.
pub(crate) const MAX_WIDTH: u32 = 2048;
/// Maximum width of a `varbit<W>`, in bits.
pub(crate) const MAX_VARBIT: u32 = 16_384;

/// Kind and content of a token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// Identifier or keyword.
    Ident(Rc<str>),
    /// Number. `width` is the width and the signedness of a literal such as `8w1` or `4s1`.
    Int { value: BigInt, width: Option<(u32, bool)>, text: Rc<str> },
    /// String literal after resolution of escapes.
    Str(Rc<str>),
    /// Operator or punctuation.
    Punct(&'static str),
    /// Not a token of P4, with the error message.
    Invalid(Rc<str>),
    /// End of the input.
    Eof,
}

/// A token and its position.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// First token of its line, which ends a `@pragma`.
    pub starts_line: bool,
    /// White space before it.
    pub space_before: bool,
}

impl Token {
    /// True if the token is this operator or punctuation.
    pub fn is(&self, punct: &str) -> bool {
        matches!(self.kind, TokenKind::Punct(p) if p == punct)
    }

    /// True if the token is this identifier or keyword.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, TokenKind::Ident(t) if &**t == word)
    }

    /// The identifier or keyword, if the token is one.
    pub fn ident(&self) -> Option<&Rc<str>> {
        match &self.kind {
            TokenKind::Ident(text) => Some(text),
            _ => None,
        }
    }

    /// Source text, for hashes and annotations.
    pub fn text(&self) -> String {
        match &self.kind {
            TokenKind::Ident(t) => t.to_string(),
            TokenKind::Int { text, .. } => text.to_string(),
            TokenKind::Str(t) => format!("{t:?}"),
            TokenKind::Punct(p) => (*p).to_string(),
            TokenKind::Invalid(_) => "?".to_string(),
            TokenKind::Eof => String::new(),
        }
    }

    /// Text for error messages.
    pub fn describe(&self) -> String {
        match &self.kind {
            TokenKind::Eof => "the end of the file".to_string(),
            TokenKind::Str(t) => format!("string {t:?}"),
            _ => format!("'{}'", self.text()),
        }
    }
}

/// Operators and punctuation, longest first: the lexer takes the first that fits. `>>` is not among
/// them, because `register<bit<8>>` has two `>`. The parser combines two `>` to a shift.
const PUNCTS: &[&str] = &[
    "|+|=", "|-|=", "&&&", "...", "<<=", "|+|", "|-|", "..", "++", "&&", "||", "==", "!=", "<=",
    ">=", "<<", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "(", ")", "[", "]", "{", "}", "<",
    ">", ",", ";", ":", ".", "=", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "?", "@", "#",
];

struct Lexer<'a> {
    chars: &'a [char],
    spans: &'a [Span],
    at: usize,
    starts_line: bool,
    space_before: bool,
    out: Vec<Token>,
}

/// Splits preprocessed text into tokens; each character has its position in `spans`. The end of the
/// text has the position `end`. Text that is not a token becomes [`TokenKind::Invalid`].
pub(crate) fn lex(chars: &[char], spans: &[Span], end: Span) -> Vec<Token> {
    let mut lexer =
        Lexer { chars, spans, at: 0, starts_line: true, space_before: false, out: Vec::new() };
    lexer.run(end);
    lexer.out
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn bump(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        c
    }

    fn push(&mut self, kind: TokenKind, span: Span) {
        self.out.push(Token {
            kind,
            span,
            starts_line: self.starts_line,
            space_before: self.space_before,
        });
        self.starts_line = false;
        self.space_before = false;
    }

    fn run(&mut self, end: Span) {
        while self.at < self.chars.len() {
            let span = self.spans[self.at];
            let c = self.peek(0);
            match c {
                '\n' => {
                    self.bump();
                    self.starts_line = true;
                    self.space_before = true;
                }
                c if c.is_whitespace() => {
                    self.bump();
                    self.space_before = true;
                }
                '"' => self.string(span),
                c if c.is_ascii_digit() => self.number(span),
                c if c.is_ascii_alphabetic() || c == '_' => {
                    let text = self.word();
                    self.push(TokenKind::Ident(text), span);
                }
                _ => self.punct(span),
            }
        }
        self.starts_line = true;
        self.push(TokenKind::Eof, end);
    }

    fn string(&mut self, span: Span) {
        self.bump();
        let mut text = String::new();
        loop {
            if self.at >= self.chars.len() {
                self.push(
                    TokenKind::Invalid("This string has no end; '\"' is missing.".into()),
                    span,
                );
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
        self.push(TokenKind::Str(text.into()), span);
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
        let kind = parse_number(&text).unwrap_or_else(|message| TokenKind::Invalid(message.into()));
        self.push(kind, span);
    }

    fn punct(&mut self, span: Span) {
        for punct in PUNCTS {
            if punct.chars().enumerate().all(|(i, c)| self.peek(i) == c) {
                for _ in 0..punct.len() {
                    self.bump();
                }
                self.push(TokenKind::Punct(punct), span);
                return;
            }
        }
        let c = self.bump();
        self.push(TokenKind::Invalid(format!("{c:?} is not a character of P4.").into()), span);
    }
}

/// Parses a number: `[width w|s] [0x|0d|0o|0b] digits`.
fn parse_number(text: &str) -> Result<TokenKind, String> {
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
        Some(value) => Ok(TokenKind::Int { value, width, text: text.into() }),
        None => Err(format!("'{text}' is not a number; 10, 0x0A, 0b1010, 8w10 or 8s10 are.")),
    }
}
