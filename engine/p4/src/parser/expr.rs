//! Parses expressions and key sets.

use netkv_ir::Span;

use super::state::{MAX_DEPTH, ParseFailed, ParseResult, Parser};
use crate::ast::{Arg, Expr, ExprKind, Name};
use crate::token::TokenKind;

/// Binary operators in increasing order of precedence (specification, section 8).
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["++", "+", "-", "|+|", "|-|"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    pub(super) fn parse_expr(&mut self) -> ParseResult<Expr> {
        self.with_nesting(|p| {
            let cond = p.parse_binary(0)?;
            if !p.peek().is("?") {
                return Ok(cond);
            }
            let span = cond.span;
            p.bump();
            let then = p.parse_expr()?;
            p.expect(":", "between the two values of '? :'")?;
            let otherwise = p.parse_expr()?;
            let kind = ExprKind::Mux(Box::new(cond), Box::new(then), Box::new(otherwise));
            Ok(Expr { kind, span })
        })
    }

    /// The next binary operator, its precedence, and its number of tokens.
    fn peek_operator(&self) -> Option<(&'static str, usize, usize)> {
        let TokenKind::Punct(op) = self.peek().kind else { return None };
        let next = self.ahead(1);
        let (op, tokens) = match op {
            ">" if next.is(">") && !next.space_before => (">>", 2),
            // `>>=` is a compound assignment, which the statement parses.
            ">" if next.is(">=") && !next.space_before => return None,
            _ => (op, 1),
        };
        let level = LEVELS.iter().position(|ops| ops.contains(&op))?;
        Some((op, level, tokens))
    }

    fn parse_binary(&mut self, level: usize) -> ParseResult<Expr> {
        let mut left = self.parse_unary()?;
        let mut steps = 0;
        while let Some((op, found, tokens)) = self.peek_operator() {
            if found < level {
                break;
            }
            let span = self.span();
            // A long chain of operators makes the tree as deep as nesting does.
            steps += 1;
            if self.depth + steps > MAX_DEPTH {
                return self.error(
                    span,
                    format!("An expression has more than {MAX_DEPTH} operators in a row."),
                );
            }
            for _ in 0..tokens {
                self.bump();
            }
            self.depth += steps;
            let right = self.parse_binary(found + 1);
            self.depth -= steps;
            left = Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right?)), span };
        }
        Ok(left)
    }

    fn parse_unary(&mut self) -> ParseResult<Expr> {
        self.with_nesting(|p| {
            let span = p.span();
            if let TokenKind::Punct(op @ ("-" | "+" | "~" | "!")) = p.peek().kind {
                p.bump();
                let arg = p.parse_unary()?;
                return Ok(match op {
                    "+" => arg,
                    _ => Expr { kind: ExprKind::Unary(op, Box::new(arg)), span },
                });
            }
            if p.peek().is("(")
                && let Some((ty, span)) = p.parse_cast_type()
            {
                let arg = p.parse_unary()?;
                return Ok(Expr { kind: ExprKind::Cast(ty, Box::new(arg)), span });
            }
            p.parse_postfix()
        })
    }

    fn parse_postfix(&mut self) -> ParseResult<Expr> {
        let mut expr = self.parse_primary()?;
        let mut steps = 0;
        loop {
            let span = self.span();
            steps += 1;
            if self.depth + steps > MAX_DEPTH {
                return self.error(
                    span,
                    format!("An expression has more than {MAX_DEPTH} parts in a row."),
                );
            }
            if self.eat(".") {
                // `apply` is a keyword and the name of a method.
                let token = self.peek().clone();
                let name = if token.is_word("apply") {
                    self.bump();
                    crate::ast::Name { text: "apply".into(), span: token.span }
                } else {
                    self.parse_name("the name of a field or method")?
                };
                expr = Expr { span: expr.span, kind: ExprKind::Member(Box::new(expr), name) };
            } else if self.eat("[") {
                let first = self.parse_expr()?;
                let whole = expr.span;
                let kind = if self.eat(":") {
                    let low = self.parse_expr()?;
                    ExprKind::Slice(Box::new(expr), Box::new(first), Box::new(low))
                } else {
                    ExprKind::Index(Box::new(expr), Box::new(first))
                };
                self.expect("]", "after the index")?;
                expr = Expr { kind, span: whole };
            } else if self.peek().is("(") {
                expr = self.parse_call(expr, Vec::new())?;
            } else if let Some(types) = self.parse_call_type_args() {
                expr = self.parse_call(expr, types)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn parse_call(&mut self, callee: Expr, types: Vec<crate::ast::Type>) -> ParseResult<Expr> {
        let span = callee.span;
        let args = self.parse_args()?;
        Ok(Expr { kind: ExprKind::Call(Box::new(callee), types, args), span })
    }

    /// `(a, b)` or `(x = a, y = b)`.
    pub(super) fn parse_args(&mut self) -> ParseResult<Vec<Arg>> {
        self.expect("(", "before the arguments")?;
        self.parse_list(")", |p| {
            if p.peek().ident().is_some() && p.ahead(1).is("=") {
                let name = p.parse_name("the name of a parameter")?;
                p.bump();
                return Ok(Arg { name: Some(name), expr: p.parse_arg_expr()? });
            }
            Ok(Arg { name: None, expr: p.parse_arg_expr()? })
        })
    }

    fn parse_arg_expr(&mut self) -> ParseResult<Expr> {
        if self.peek().is_word("_") {
            let span = self.bump().span;
            return Ok(Expr { kind: ExprKind::DontCare, span });
        }
        self.parse_expr()
    }

    fn parse_primary(&mut self) -> ParseResult<Expr> {
        let token = self.peek().clone();
        let span = token.span;
        let kind = match &token.kind {
            TokenKind::Int { value, width, text } => {
                let digits = text.to_lowercase();
                let base = match () {
                    () if digits.contains("0x") => 16,
                    () if digits.contains("0b") => 2,
                    () if digits.contains("0o") => 8,
                    () => 10,
                };
                ExprKind::Int(value.clone(), *width, base)
            }
            TokenKind::Str(text) => ExprKind::Str(text.clone()),
            TokenKind::Ident(word) => match &**word {
                "true" => ExprKind::Bool(true),
                "false" => ExprKind::Bool(false),
                "this" => return self.error(span, "'this' is not supported yet."),
                _ => ExprKind::Ident(self.parse_name("an expression")?),
            },
            TokenKind::Punct("...") => ExprKind::Dots,
            TokenKind::Punct(".") => {
                self.bump();
                return Ok(Expr {
                    kind: ExprKind::Global(self.parse_name("a name after '.'")?),
                    span,
                });
            }
            TokenKind::Punct("(") => {
                self.bump();
                let expr = self.parse_expr()?;
                self.expect(")", "to close the parenthesis")?;
                return Ok(expr);
            }
            TokenKind::Punct("{") => {
                self.bump();
                return self.parse_braces(span);
            }
            _ => return self.error_unexpected("an expression"),
        };
        if !matches!(kind, ExprKind::Ident(_)) {
            self.bump();
        }
        Ok(Expr { kind, span })
    }

    /// Parses a list, a record or `{#}`, after `{`.
    fn parse_braces(&mut self, span: Span) -> ParseResult<Expr> {
        if self.eat("#") {
            self.expect("}", "after '{#'")?;
            return Ok(Expr { kind: ExprKind::InvalidHeader, span });
        }
        if self.peek().ident().is_some() && self.ahead(1).is("=") {
            let fields = self.parse_list("}", |p| {
                let span = p.span();
                if p.eat("...") {
                    let rest = Name { text: "...".into(), span };
                    return Ok((rest, Expr { kind: ExprKind::Dots, span }));
                }
                let name = p.parse_name("the name of a field")?;
                p.expect("=", "after the name of a field")?;
                Ok((name, p.parse_expr()?))
            })?;
            return Ok(Expr { kind: ExprKind::Record(fields), span });
        }
        Ok(Expr { kind: ExprKind::List(self.parse_list("}", Self::parse_expr)?), span })
    }

    /// Parses the key sets of a select case or table entry.
    pub(super) fn parse_key_set(&mut self) -> ParseResult<Expr> {
        if !self.peek().is("(") {
            return self.parse_simple_key_set();
        }
        // `(a, b)` for several keys, or an expression that starts with a parenthesis.
        let tuple = self.attempt(|p| {
            let span = p.bump().span;
            let parts = p.parse_list(")", Self::parse_simple_key_set)?;
            if p.peek().is(":") { Ok((parts, span)) } else { Err(ParseFailed) }
        });
        match tuple {
            Some((parts, span)) => Ok(Expr { kind: ExprKind::KeyTuple(parts), span }),
            None => self.parse_simple_key_set(),
        }
    }

    fn parse_simple_key_set(&mut self) -> ParseResult<Expr> {
        let span = self.span();
        if self.peek().is_word("_") || self.peek().is_word("default") {
            self.bump();
            return Ok(Expr { kind: ExprKind::DontCare, span });
        }
        let left = self.parse_expr()?;
        let kind = if self.eat("&&&") {
            ExprKind::Mask(Box::new(left), Box::new(self.parse_expr()?))
        } else if self.eat("..") {
            ExprKind::Range(Box::new(left), Box::new(self.parse_expr()?))
        } else {
            return Ok(left);
        };
        Ok(Expr { kind, span })
    }
}
