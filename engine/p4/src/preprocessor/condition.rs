//! The conditions of `#if` and `#elif`: integer expressions of C with values of 64 bits.

use std::iter::Peekable;
use std::str::Chars;

use netkv_ir::Span;

use super::contexts::Reading;
use super::include::header;
use super::lexer::{Kind, Token};
use super::state::Preprocessor;

const MAX_DEPTH: usize = 64;

/// A value of type `intmax_t` or `uintmax_t`.
#[derive(Debug, Clone, Copy)]
struct Value {
    bits: i64,
    unsigned: bool,
}

impl Value {
    fn signed(bits: i64) -> Self {
        Self { bits, unsigned: false }
    }

    fn of(truth: bool) -> Self {
        Self::signed(i64::from(truth))
    }

    fn holds(self) -> bool {
        self.bits != 0
    }
}

/// What is wrong, and where; at the end of the condition if there is no position.
type Wrong = (Option<Span>, String);

impl Preprocessor<'_> {
    /// Evaluates the condition of `#if` or `#elif`. Reports an error and is false if it is wrong.
    pub(super) fn condition(&mut self, word: &str, rest: &[Token], span: Span) -> bool {
        if rest.is_empty() {
            self.reporter.error(span, format!("Expected a condition after '#{word}'."));
            return false;
        }
        if !self.isolate(rest) {
            return false;
        }
        let tokens = self.condition_tokens();
        self.end_isolation();
        for token in tokens.as_deref().unwrap_or_default() {
            if token.is_name("true") {
                let message = "'true' is not a macro, so its value is 0 here, as in p4c. \
                               Write 1.";
                self.reporter.warning(token.span, message);
            }
        }
        let value = tokens.and_then(|tokens| evaluate(&tokens));
        value.unwrap_or_else(|(place, message)| {
            self.reporter.error(place.unwrap_or(span), message);
            false
        })
    }

    /// The expanded tokens, with `defined` and `__has_include` evaluated.
    fn condition_tokens(&mut self) -> Result<Vec<Token>, Wrong> {
        let mut out = Vec::new();
        loop {
            let token = self.next_expanded();
            let value = match token.identifier().map_or("", |name| name) {
                _ if token.kind == Kind::End => return Ok(out),
                "defined" => self.defined(&token)?,
                name @ ("__has_include" | "__has_include_next") => {
                    let next = name.ends_with("next");
                    self.has_include_operator(&token, next)?
                }
                "__has_attribute" | "__has_cpp_attribute" | "__has_builtin" => {
                    self.parenthesized(&token)?;
                    false
                }
                _ => {
                    out.push(token);
                    continue;
                }
            };
            let text = if value { "1" } else { "0" };
            out.push(Token::new(Kind::Number, text, token.span));
        }
    }

    /// `defined NAME` or `defined(NAME)`, whose name is not expanded.
    fn defined(&mut self, operator: &Token) -> Result<bool, Wrong> {
        let wrong = || {
            let message = "Expected the name of a macro after 'defined': defined(NAME).";
            (Some(operator.span), message.to_string())
        };
        let mut token = self.next_token(Reading::Program);
        let open = token.is("(");
        if open {
            token = self.next_token(Reading::Program);
        }
        let name = token.identifier().ok_or_else(wrong)?.clone();
        if open && !self.next_token(Reading::Program).is(")") {
            let message = format!("Expected ')' after 'defined({name}'.");
            return Err((Some(token.span), message));
        }
        Ok(self.is_defined(&name))
    }

    /// The tokens between parentheses after an operator, without expansion.
    fn parenthesized(&mut self, operator: &Token) -> Result<Vec<Token>, Wrong> {
        let wrong = || {
            let message = format!("Expected an operand in parentheses after '{}'.", operator.text);
            (Some(operator.span), message)
        };
        if !self.next_token(Reading::Program).is("(") {
            return Err(wrong());
        }
        let mut open = 1;
        let mut inside = Vec::new();
        loop {
            let token = self.next_token(Reading::Program);
            open += i32::from(token.is("(")) - i32::from(token.is(")"));
            match token.kind {
                Kind::End => return Err(wrong()),
                _ if open == 0 => return Ok(inside),
                _ => inside.push(token),
            }
        }
    }

    fn has_include_operator(&mut self, operator: &Token, next: bool) -> Result<bool, Wrong> {
        let inside = self.parenthesized(operator)?;
        let found = match header(&inside) {
            Some((found, _)) => Some(found),
            None => header(&self.expand_list(&inside)).map(|(found, _)| found),
        };
        match found {
            Some(found) => Ok(self.has_include(&found, next)),
            None => {
                let message = format!("Expected <file> or \"file\" in '{}'.", operator.text);
                Err((Some(operator.span), message))
            }
        }
    }
}

/// Value of a condition after macro expansion. Names have the value 0.
fn evaluate(tokens: &[Token]) -> Result<bool, Wrong> {
    let mut parser = Condition { tokens, at: 0, depth: 0, skipped: 0 };
    let value = parser.comma()?;
    match parser.tokens.get(parser.at) {
        None => Ok(value.holds()),
        Some(token) => Err((
            Some(token.span),
            format!("Expected an operator or the end of the condition, not {}.", token.describe()),
        )),
    }
}

struct Condition<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    /// Number of enclosing operands that are not evaluated, so that a division by 0 is no error.
    skipped: usize,
}

/// Binary operators by rising precedence.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Condition<'_> {
    fn eat(&mut self, punctuator: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.is(punctuator));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, punctuator: &str) -> Result<(), Wrong> {
        if self.eat(punctuator) {
            return Ok(());
        }
        let place = self.tokens.get(self.at).or(self.tokens.last()).map(|token| token.span);
        Err((place, format!("Expected '{punctuator}' in this condition.")))
    }

    fn deeper(&mut self) -> Result<(), Wrong> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err((None, "This condition is nested too deeply.".into())),
            false => Ok(()),
        }
    }

    fn comma(&mut self) -> Result<Value, Wrong> {
        let mut value = self.ternary()?;
        while self.eat(",") {
            value = self.ternary()?;
        }
        Ok(value)
    }

    /// Parses an operand with `parse`, without evaluation if it is `skipped`.
    fn operand(
        &mut self,
        skipped: bool,
        parse: impl Fn(&mut Self) -> Result<Value, Wrong>,
    ) -> Result<Value, Wrong> {
        self.skipped += usize::from(skipped);
        let value = parse(self)?;
        self.skipped -= usize::from(skipped);
        Ok(value)
    }

    fn ternary(&mut self) -> Result<Value, Wrong> {
        self.deeper()?;
        let mut value = self.binary(0)?;
        if self.eat("?") {
            let condition = value.holds();
            let then = self.operand(!condition, Self::comma)?;
            self.expect(":")?;
            let otherwise = self.operand(condition, Self::ternary)?;
            value = if condition { then } else { otherwise };
            value.unsigned = then.unsigned || otherwise.unsigned;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, level: usize) -> Result<Value, Wrong> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(token) = self.tokens.get(self.at)
            && token.kind == Kind::Punctuator
            && operators.contains(&&*token.text)
        {
            self.at += 1;
            let operator = &*token.text;
            let skipped = operator == "||" && left.holds() || operator == "&&" && !left.holds();
            let right = self.operand(skipped, |it| it.binary(level + 1))?;
            left = match apply(operator, left, right) {
                Some(value) => value,
                None if self.skipped > 0 => Value::signed(0),
                None => return Err((Some(token.span), "This condition divides by zero.".into())),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Value, Wrong> {
        let Some(token) = self.tokens.get(self.at) else {
            let place = self.tokens.last().map(|token| token.span);
            return Err((place, "Expected a value at the end of this condition.".into()));
        };
        self.at += 1;
        self.deeper()?;
        let value = match (token.kind, &*token.text) {
            (Kind::Number, text) => integer(text).map_err(|message| (Some(token.span), message))?,
            (Kind::Char, text) => Value::signed(character(text)),
            (Kind::Identifier, _) => Value::signed(0),
            (Kind::Punctuator, "!") => Value::of(!self.unary()?.holds()),
            (Kind::Punctuator, "+") => self.unary()?,
            (Kind::Punctuator, "-") => {
                let value = self.unary()?;
                Value { bits: value.bits.wrapping_neg(), ..value }
            }
            (Kind::Punctuator, "~") => {
                let value = self.unary()?;
                Value { bits: !value.bits, ..value }
            }
            (Kind::Punctuator, "(") => {
                let value = self.comma()?;
                self.expect(")")?;
                value
            }
            _ => {
                let message =
                    format!("Expected a value in this condition, not {}.", token.describe());
                return Err((Some(token.span), message));
            }
        };
        self.depth -= 1;
        Ok(value)
    }
}

/// Value of a binary operator; `None` for a division by zero.
fn apply(operator: &str, left: Value, right: Value) -> Option<Value> {
    // The usual arithmetic conversions: unsigned if one operand is.
    let unsigned = left.unsigned || right.unsigned;
    let (a, b) = (left.bits, right.bits);
    let (ua, ub) = (a as u64, b as u64);
    let less = if unsigned { ua < ub } else { a < b };
    let value = |bits| Value { bits, unsigned };
    Some(match operator {
        "||" => Value::of(left.holds() || right.holds()),
        "&&" => Value::of(left.holds() && right.holds()),
        "|" => value(a | b),
        "^" => value(a ^ b),
        "&" => value(a & b),
        "==" => Value::of(a == b),
        "!=" => Value::of(a != b),
        "<" => Value::of(less),
        ">=" => Value::of(!less),
        ">" => Value::of(!less && a != b),
        "<=" => Value::of(less || a == b),
        "<<" | ">>" => {
            // A negative amount shifts the other way.
            let negative = !right.unsigned && b < 0;
            let amount = u32::try_from(if negative { b.unsigned_abs() } else { ub }).unwrap_or(64);
            let bits = match ((operator == "<<") != negative, left.unsigned) {
                (true, _) => a.checked_shl(amount).unwrap_or(0),
                (false, true) => ua.checked_shr(amount).unwrap_or(0) as i64,
                (false, false) => a >> amount.min(63),
            };
            Value { bits, unsigned: left.unsigned }
        }
        "+" => value(a.wrapping_add(b)),
        "-" => value(a.wrapping_sub(b)),
        "*" => value(a.wrapping_mul(b)),
        _ if b == 0 => return None,
        "/" if unsigned => value((ua / ub) as i64),
        "/" => value(a.wrapping_div(b)),
        _ if unsigned => value((ua % ub) as i64),
        _ => value(a.wrapping_rem(b)),
    })
}

/// Value of an integer of C: decimal, octal, `0x`, `0b`, with the suffixes `u` and `l`.
fn integer(text: &str) -> Result<Value, String> {
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', ..] => (8, &lower[..]),
        _ => (10, &lower[..]),
    };
    let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(length);
    let wrong = || {
        format!("'{text}' is not an integer of C, as conditions have: 10, 012, 0x0A, 0b1010, 10UL.")
    };
    if digits.is_empty() {
        return Err(wrong());
    }
    let unsigned = match suffix {
        "" | "l" | "ll" => false,
        "u" | "ul" | "ull" | "lu" | "llu" => true,
        _ => return Err(wrong()),
    };
    let bits = u64::from_str_radix(digits, radix)
        .map_err(|_| format!("'{text}' does not fit in 64 bits."))?;
    Ok(Value { bits: bits as i64, unsigned: unsigned || bits > i64::MAX as u64 })
}

/// Value of a character constant. Several characters are the bytes of a number of 32 bits; of a
/// wide constant (`L'a'`) the last one counts.
fn character(text: &str) -> i64 {
    if let Some(wide) = text.strip_prefix('L') {
        let last = units(wide).last().map_or(0, |unit| match unit {
            Unit::Character(c) => c as u32,
            Unit::Escape(value) => value,
        });
        return i64::from(last as i32);
    }
    let mut bytes: Vec<u8> = Vec::new();
    for unit in units(text) {
        match unit {
            Unit::Character(c) => bytes.extend(c.to_string().as_bytes()),
            Unit::Escape(value) => bytes.push(value as u8),
        }
    }
    match bytes.as_slice() {
        // A single character is a signed byte.
        [byte] => i64::from(*byte as i8),
        bytes => i64::from(bytes.iter().fold(0i32, |value, byte| (value << 8) | i32::from(*byte))),
    }
}

/// A part of a character constant.
enum Unit {
    Character(char),
    /// The value of an escape sequence.
    Escape(u32),
}

/// The parts between the quotation marks of a character constant.
fn units(quoted: &str) -> impl Iterator<Item = Unit> {
    let mut rest = quoted[1..quoted.len() - 1].chars().peekable();
    std::iter::from_fn(move || {
        let c = rest.next()?;
        let escaped = if c == '\\' { rest.next() } else { None };
        Some(match escaped {
            None => Unit::Character(c),
            Some('n') => Unit::Escape(10),
            Some('t') => Unit::Escape(9),
            Some('r') => Unit::Escape(13),
            Some('a') => Unit::Escape(7),
            Some('b') => Unit::Escape(8),
            Some('f') => Unit::Escape(12),
            Some('v') => Unit::Escape(11),
            Some('e' | 'E') => Unit::Escape(27),
            Some('x') => Unit::Escape(digits(&mut rest, 16, usize::MAX, 0)),
            Some(c @ '0'..='7') => Unit::Escape(digits(&mut rest, 8, 2, c as u32 - '0' as u32)),
            Some(c) => Unit::Character(c),
        })
    })
}

/// The value that an escape sequence of at most `limit` more digits gives.
fn digits(rest: &mut Peekable<Chars<'_>>, radix: u32, limit: usize, first: u32) -> u32 {
    let mut value = first;
    for _ in 0..limit {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        rest.next();
    }
    value
}
