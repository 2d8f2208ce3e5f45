//! Parses types.

use netkv_ir::Span;

use super::{ParseFailed, ParseResult, Parser};
use crate::ast::{Expr, ExprKind, Name, Type, TypeKind};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> ParseResult<Type> {
        self.nested(Self::ty_inner)
    }

    fn ty_inner(&mut self) -> ParseResult<Type> {
        let token = self.peek().clone();
        let span = token.span;
        let kind = match token.ident().map(|t| &**t) {
            Some("void") => self.word_type(TypeKind::Void),
            Some("bool") => self.word_type(TypeKind::Bool),
            Some("string") => self.word_type(TypeKind::Str),
            Some("error") => self.word_type(TypeKind::Error),
            Some("match_kind") => self.word_type(TypeKind::MatchKind),
            Some("_") => self.word_type(TypeKind::DontCare),
            Some("bit") => {
                self.bump();
                TypeKind::Bit(self.width()?)
            }
            Some("int") => {
                self.bump();
                TypeKind::Int(self.width()?)
            }
            Some("varbit") => {
                self.bump();
                match self.width()? {
                    Some(width) => TypeKind::Varbit(width),
                    None => return self.unexpected("'<' and the maximum width after 'varbit'"),
                }
            }
            Some("tuple") => {
                self.bump();
                self.expect("<", "after 'tuple'")?;
                TypeKind::Tuple(self.list(">", Self::ty)?)
            }
            Some("list") if self.ahead(1).is("<") => {
                self.bump();
                self.bump();
                self.ty()?;
                self.expect(">", "after the element type")?;
                TypeKind::List
            }
            _ => {
                let global = self.eat(".");
                let name = self.name("a type")?;
                let mut args = Vec::new();
                if self.peek().is("<") {
                    self.bump();
                    args = self.list(">", Self::ty)?;
                }
                TypeKind::Named(name, global, args)
            }
        };
        let mut ty = Type { kind, span };
        while self.peek().is("[") {
            self.bump();
            let size = self.expr()?;
            self.expect("]", "after the size of a stack")?;
            ty = Type { kind: TypeKind::Stack(Box::new(ty), Box::new(size)), span };
        }
        Ok(ty)
    }

    fn word_type(&mut self, kind: TypeKind) -> TypeKind {
        self.bump();
        kind
    }

    /// Parses the width `<8>` or `<(expression)>`, if there is one.
    fn width(&mut self) -> ParseResult<Option<Box<Expr>>> {
        if !self.eat("<") {
            return Ok(None);
        }
        let token = self.peek().clone();
        let expr = match &token.kind {
            TokenKind::Int { value, width, .. } => {
                self.bump();
                Expr { kind: ExprKind::Int(value.clone(), *width), span: token.span }
            }
            TokenKind::Punct("(") => {
                self.bump();
                let expr = self.expr()?;
                self.expect(")", "after the width")?;
                expr
            }
            _ => return self.unexpected("a width: a number, or an expression in parentheses"),
        };
        self.expect(">", "after the width")?;
        Ok(Some(Box::new(expr)))
    }

    /// Parses type parameters `<T, U>`, if there are any.
    pub(super) fn type_params(&mut self) -> ParseResult<Vec<Name>> {
        if !self.eat("<") {
            return Ok(Vec::new());
        }
        self.list(">", |p| p.name("the name of a type parameter"))
    }

    /// Parses the type arguments of a call `f<T, U>(x)`, if there are any. A trial distinguishes
    /// them from the operator `<`.
    pub(super) fn call_type_args(&mut self) -> Option<Vec<Type>> {
        if !self.peek().is("<") {
            return None;
        }
        self.attempt(|p| {
            p.bump();
            let args = p.list(">", Self::ty)?;
            if p.peek().is("(") { Ok(args) } else { Err(ParseFailed) }
        })
    }

    /// Parses the `(type)` of a cast, if there is one.
    pub(super) fn cast_type(&mut self) -> Option<(Type, Span)> {
        let word = self.ahead(1).ident()?;
        let builtin = matches!(
            &**word,
            "bit" | "int" | "bool" | "varbit" | "error" | "string" | "tuple" | "list"
        );
        self.attempt(|p| {
            let span = p.bump().span;
            let ty = p.ty()?;
            p.expect(")", "after the type")?;
            let next = p.peek();
            // `(name)` is a cast only if the next token starts an operand, and cannot continue an
            // expression in parentheses.
            let operand = matches!(
                next.kind,
                TokenKind::Ident(_) | TokenKind::Int { .. } | TokenKind::Str(_)
            ) || next.is("(")
                || next.is("~")
                || next.is("!")
                || next.is("{")
                || next.is("...");
            if builtin || operand { Ok((ty, span)) } else { Err(ParseFailed) }
        })
    }
}
