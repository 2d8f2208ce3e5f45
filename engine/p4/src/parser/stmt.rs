//! Parses statements and parser states.

use super::state::{ParseFailed, ParseResult, Parser};
use crate::ast::{Decl, DeclKind, Expr, ExprKind, State, Stmt, StmtKind, SwitchCase, Transition};
use crate::diagnostics::did_you_mean;
use crate::token::TokenKind;

/// Compound assignment operators and their binary operators. The parser handles `>>=` apart.
const COMPOUND: &[(&str, &str)] = &[
    ("+=", "+"),
    ("-=", "-"),
    ("*=", "*"),
    ("/=", "/"),
    ("%=", "%"),
    ("&=", "&"),
    ("|=", "|"),
    ("^=", "^"),
    ("<<=", "<<"),
    ("|+|=", "|+|"),
    ("|-|=", "|-|"),
];

impl Parser<'_> {
    /// Parses `{ statements }`, with annotations before it.
    pub(super) fn parse_block(&mut self, whereabouts: &str) -> ParseResult<Vec<Stmt>> {
        self.parse_annotations()?;
        self.expect("{", whereabouts)?;
        let mut body = Vec::new();
        loop {
            if self.eat("}") {
                return Ok(body);
            }
            if self.at_end() {
                return self.error_unexpected("'}' to close the block");
            }
            let (from, depth) = (self.at, self.depth);
            match self.parse_stmt() {
                Ok(stmt) => body.push(stmt),
                Err(ParseFailed) if self.suppress_errors > 0 => return Err(ParseFailed),
                Err(ParseFailed) => {
                    self.depth = depth;
                    self.recover_in_block(from);
                }
            }
        }
    }

    pub(super) fn parse_stmt(&mut self) -> ParseResult<Stmt> {
        self.with_nesting(Self::parse_stmt_inner)
    }

    fn parse_stmt_inner(&mut self) -> ParseResult<Stmt> {
        let annotations = self.parse_annotations()?;
        let token = self.peek().clone();
        let span = token.span;
        let kind = match &token.kind {
            TokenKind::Punct(";") => {
                self.bump();
                StmtKind::Empty
            }
            TokenKind::Punct("{") => StmtKind::Block(self.parse_block("")?),
            TokenKind::Ident(word) => match &**word {
                "if" => return self.parse_if(),
                "switch" => return self.parse_switch(),
                "exit" => {
                    self.bump();
                    self.expect(";", "after 'exit'")?;
                    StmtKind::Exit
                }
                "return" => {
                    self.bump();
                    let value = if self.peek().is(";") { None } else { Some(self.parse_expr()?) };
                    self.expect(";", "after 'return'")?;
                    StmtKind::Return(value)
                }
                "const" => StmtKind::Decl(Box::new(self.parse_const(annotations)?)),
                "for" => return self.parse_for(),
                "break" | "continue" if self.ahead(1).is(";") => {
                    let kind = match &**word {
                        "break" => StmtKind::Break,
                        _ => StmtKind::Continue,
                    };
                    self.bump();
                    self.bump();
                    kind
                }
                "while" => {
                    return self.error(span, "P4 has no 'while'; 'for (; cond; ) ...' does it.");
                }
                "else" => return self.error(span, "'else' without 'if' before it."),
                _ => return self.parse_decl_assignment_or_call(annotations),
            },
            _ => return self.parse_decl_assignment_or_call(annotations),
        };
        Ok(Stmt { kind, span })
    }

    fn parse_if(&mut self) -> ParseResult<Stmt> {
        let span = self.bump().span;
        self.expect("(", "after 'if'")?;
        let cond = self.parse_expr()?;
        self.expect(")", "after the condition")?;
        let then = Box::new(self.parse_branch()?);
        let otherwise = match self.eat_word("else") {
            true => Some(Box::new(self.parse_branch()?)),
            false => None,
        };
        Ok(Stmt { kind: StmtKind::If(cond, then, otherwise), span })
    }

    /// Parses `for (init; cond; update) body` and `for (x in collection) body`.
    fn parse_for(&mut self) -> ParseResult<Stmt> {
        let span = self.bump().span;
        self.expect("(", "after 'for'")?;
        let annotations = self.parse_annotations()?;
        let decl = self.attempt(|p| {
            let ty = p.parse_type()?;
            let name = p.parse_name("")?;
            if p.eat_word("in") { Ok((ty, name)) } else { Err(ParseFailed) }
        });
        if let Some((ty, name)) = decl {
            let low = self.parse_expr()?;
            let of = match self.eat("..") {
                true => {
                    let span = low.span;
                    let high = self.parse_expr()?;
                    Expr { kind: ExprKind::Range(Box::new(low), Box::new(high)), span }
                }
                false => low,
            };
            self.expect(")", "after the values of the loop")?;
            let body = Box::new(self.parse_branch()?);
            return Ok(Stmt { kind: StmtKind::ForIn { ty, name, of, body }, span });
        }
        if self.peek().ident().is_some() && self.ahead(1).is_word("in") {
            return self.error_unexpected("a type before the variable of the loop");
        }
        let mut init = Vec::new();
        while !self.eat(";") {
            let annotations = if init.is_empty() { annotations.clone() } else { Vec::new() };
            init.push(self.parse_loop_stmt(annotations)?);
            if !self.eat(",") && !self.peek().is(";") {
                return self.error_unexpected("',' or ';' after the start of the loop");
            }
        }
        let cond = self.parse_expr()?;
        self.expect(";", "after the condition of the loop")?;
        let update = self.parse_list(")", |p| p.parse_loop_stmt(Vec::new()))?;
        let body = Box::new(self.parse_branch()?);
        Ok(Stmt { kind: StmtKind::For { init, cond, update, body }, span })
    }

    /// Parses a statement in the head of a loop, which has no `;` of its own.
    fn parse_loop_stmt(&mut self, annotations: Vec<crate::ast::Annotation>) -> ParseResult<Stmt> {
        let span = self.span();
        if self.declares() {
            let ty = self.parse_type()?;
            let decl = self.parse_variable_without_end(annotations, ty)?;
            return Ok(Stmt { kind: StmtKind::Decl(Box::new(decl)), span });
        }
        let kind = self.parse_assignment_or_call()?;
        Ok(Stmt { kind, span })
    }

    /// Parses a statement that is part of another one. A declaration needs a block around it.
    fn parse_branch(&mut self) -> ParseResult<Stmt> {
        let stmt = self.parse_stmt()?;
        if let StmtKind::Decl(_) = stmt.kind {
            return self
                .error(stmt.span, "A declaration cannot stand here alone: write '{ ... }'.");
        }
        Ok(stmt)
    }

    fn parse_switch(&mut self) -> ParseResult<Stmt> {
        let span = self.bump().span;
        self.expect("(", "after 'switch'")?;
        let value = self.parse_expr()?;
        self.expect(")", "after the value of the switch")?;
        self.expect("{", "before the cases of the switch")?;
        let mut cases = Vec::new();
        while !self.eat("}") {
            let span = self.span();
            let label = match self.eat_word("default") {
                true => None,
                false => Some(self.parse_expr()?),
            };
            self.expect(":", "after the label of a case")?;
            let body = match self.peek().is("{") {
                true => Some(self.parse_block("")?),
                false => None,
            };
            cases.push(SwitchCase { label, body, span });
        }
        Ok(Stmt { kind: StmtKind::Switch(value, cases), span })
    }

    /// Parses a declaration, an assignment or a call.
    fn parse_decl_assignment_or_call(
        &mut self,
        annotations: Vec<crate::ast::Annotation>,
    ) -> ParseResult<Stmt> {
        let span = self.span();
        if self.declares() {
            let ty = self.parse_type()?;
            let decl = self.parse_variable(annotations, ty)?;
            return Ok(Stmt { kind: StmtKind::Decl(Box::new(decl)), span });
        }
        let kind = self.parse_assignment_or_call()?;
        self.expect(";", "at the end of the statement")?;
        Ok(Stmt { kind, span })
    }

    /// True if a type and a name follow.
    fn declares(&mut self) -> bool {
        let found = self.attempt(|p| {
            let at = p.at;
            p.parse_type()?;
            let named = p.peek().ident().is_some();
            p.at = at;
            if named { Ok(()) } else { Err(ParseFailed) }
        });
        found.is_some()
    }

    fn parse_assignment_or_call(&mut self) -> ParseResult<StmtKind> {
        let left = self.parse_expr()?;
        let token = self.peek().clone();
        let next = self.ahead(1).clone();
        let op = match token.kind {
            TokenKind::Punct("=") => Some(None),
            TokenKind::Punct(">") if next.is(">=") && !next.space_before => {
                self.bump();
                Some(Some(">>"))
            }
            TokenKind::Punct(p) => COMPOUND.iter().find(|(c, _)| *c == p).map(|(_, op)| Some(*op)),
            _ => None,
        };
        if let Some(op) = op {
            self.bump();
            Ok(StmtKind::Assign(left, op, self.parse_expr()?))
        } else if matches!(left.kind, ExprKind::Call(..)) && !self.peek().is("{") {
            Ok(StmtKind::Call(left))
        } else {
            self.report_invalid_stmt(&left)
        }
    }

    /// Reports text that is not a statement. Its keyword may be misspelt.
    fn report_invalid_stmt<T>(&mut self, left: &Expr) -> ParseResult<T> {
        let (name, words, expected) = match &left.kind {
            ExprKind::Call(callee, ..) => {
                (&callee.kind, ["if", "switch"], "';' at the end of the statement")
            }
            other => (other, ["exit", "return"], "'=' or a call"),
        };
        if let ExprKind::Ident(name) = name {
            let hint = did_you_mean(&name.text, words.into_iter());
            if !hint.is_empty() {
                let message = format!("'{}' starts no statement here.{hint}", name.text);
                return self.error(name.span, message);
            }
        }
        self.error_unexpected(expected)
    }

    /// Parses the name and value of a variable, after its type.
    pub(super) fn parse_variable(
        &mut self,
        annotations: Vec<crate::ast::Annotation>,
        ty: crate::ast::Type,
    ) -> ParseResult<Decl> {
        let decl = self.parse_variable_without_end(annotations, ty)?;
        self.expect(";", "after the declaration of a variable")?;
        Ok(decl)
    }

    fn parse_variable_without_end(
        &mut self,
        annotations: Vec<crate::ast::Annotation>,
        ty: crate::ast::Type,
    ) -> ParseResult<Decl> {
        let span = self.span();
        let name = self.parse_name("the name of a variable")?;
        let init = match self.eat("=") {
            true => Some(self.parse_expr()?),
            false => None,
        };
        Ok(Decl { annotations, kind: DeclKind::Var { ty, name, init }, span })
    }

    /// Parses `state name { ... }`.
    pub(super) fn parse_state(&mut self) -> ParseResult<State> {
        self.bump();
        let name = self.parse_name("the name of a state")?;
        self.expect("{", "before the body of a state")?;
        let mut body = Vec::new();
        let mut transition = None;
        while !self.eat("}") {
            let (from, depth) = (self.at, self.depth);
            if self.at_end() {
                return self.error_unexpected("'}' to close the state");
            }
            if let Some(transition) = &transition {
                let _: &Transition = transition;
                return self.error_unexpected("'}' after the transition");
            }
            let result = match self.peek().is_word("transition") {
                true => self.parse_transition().map(|t| transition = Some(t)),
                false => self.parse_stmt().map(|s| body.push(s)),
            };
            if result.is_err() {
                self.depth = depth;
                self.recover_in_block(from);
            }
        }
        Ok(State { name, body, transition })
    }

    fn parse_transition(&mut self) -> ParseResult<Transition> {
        self.bump();
        let span = self.span();
        if !self.eat_word("select") {
            let name = self.parse_name("a state, 'accept', 'reject' or 'select'")?;
            self.expect(";", "after the transition")?;
            return Ok(Transition::Direct(name));
        }
        self.expect("(", "after 'select'")?;
        let keys: Vec<Expr> = self.parse_list(")", Self::parse_expr)?;
        self.expect("{", "before the cases of the select")?;
        let mut cases = Vec::new();
        while !self.eat("}") {
            let keys = self.parse_key_set()?;
            self.expect(":", "after the value of a case")?;
            let name = self.parse_name("a state, 'accept' or 'reject'")?;
            self.expect(";", "after the case")?;
            cases.push((keys, name));
        }
        Ok(Transition::Select { keys, cases, span })
    }
}
