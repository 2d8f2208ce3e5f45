//! Evaluates the conditions of `#if` and `#elif`, which are integer expressions as in C.

use crate::token::{Token, TokenKind};

const MAX_DEPTH: usize = 64;

/// Value of a condition after macro expansion. Names that are not macros have the value 0.
pub(crate) fn evaluate(tokens: &[Token]) -> Result<i128, String> {
    let mut parser = Condition { tokens, at: 0, depth: 0 };
    let value = parser.ternary()?;
    match parser.tokens.get(parser.at) {
        None => Ok(value),
        Some(token) => Err(format!("Expected the end of the condition, not {}.", token.describe())),
    }
}

struct Condition<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

/// Operators by rising precedence.
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
    fn operator(&self, level: usize) -> Option<(&'static str, usize)> {
        let token = self.tokens.get(self.at)?;
        let next = self.tokens.get(self.at + 1);
        let (op, length) = match token.kind {
            TokenKind::Punct(">") if next.is_some_and(|t| t.is(">") && !t.space_before) => {
                (">>", 2)
            }
            TokenKind::Punct(op) => (op, 1),
            _ => return None,
        };
        LEVELS[level].contains(&op).then_some((op, length))
    }

    fn ternary(&mut self) -> Result<i128, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("This condition is nested too deeply.".into());
        }
        let cond = self.binary(0)?;
        let mut value = cond;
        if self.tokens.get(self.at).is_some_and(|t| t.is("?")) {
            self.at += 1;
            let then = self.ternary()?;
            self.expect(":")?;
            let otherwise = self.ternary()?;
            value = if cond != 0 { then } else { otherwise };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, level: usize) -> Result<i128, String> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some((op, length)) = self.operator(level) {
            self.at += length;
            let right = self.binary(level + 1)?;
            let shift = u32::try_from(right).unwrap_or(127).min(127);
            left = match op {
                "||" => i128::from(left != 0 || right != 0),
                "&&" => i128::from(left != 0 && right != 0),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "==" => i128::from(left == right),
                "!=" => i128::from(left != right),
                "<" => i128::from(left < right),
                ">" => i128::from(left > right),
                "<=" => i128::from(left <= right),
                ">=" => i128::from(left >= right),
                "<<" => left.wrapping_shl(shift),
                ">>" => left.wrapping_shr(shift),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                _ if right == 0 => return Err("This condition divides by zero.".into()),
                "/" => left.wrapping_div(right),
                _ => left.wrapping_rem(right),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i128, String> {
        let Some(token) = self.tokens.get(self.at) else {
            return Err("Expected a value at the end of this condition.".into());
        };
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("This condition is nested too deeply.".into());
        }
        let value = match &token.kind {
            TokenKind::Int { value, .. } => {
                i128::try_from(value).map_err(|_| "This number is too large.".to_string())?
            }
            TokenKind::Ident(name) => i128::from(&**name == "true"),
            TokenKind::Punct("!") => i128::from(self.unary()? == 0),
            TokenKind::Punct("-") => self.unary()?.wrapping_neg(),
            TokenKind::Punct("+") => self.unary()?,
            TokenKind::Punct("~") => !self.unary()?,
            TokenKind::Punct("(") => {
                let value = self.ternary()?;
                self.expect(")")?;
                value
            }
            _ => {
                return Err(format!(
                    "Expected a value in this condition, not {}.",
                    token.describe()
                ));
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn expect(&mut self, punct: &str) -> Result<(), String> {
        if self.tokens.get(self.at).is_some_and(|t| t.is(punct)) {
            self.at += 1;
            return Ok(());
        }
        Err(format!("Expected '{punct}' in this condition."))
    }
}
