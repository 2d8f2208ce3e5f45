//! Parses types.

use netkv_ir::Span;

use super::state::{ParseFailed, ParseResult, Parser};
use crate::ast::{Expr, ExprKind, Name, Type, TypeKind};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn parse_type(&mut self) -> ParseResult<Type> {
        self.with_nesting(Self::parse_type_inner)
    }

    fn parse_type_inner(&mut self) -> ParseResult<Type> {
        let token = self.peek().clone();
        let span = token.span;
        let kind = match token.ident().map(|t| &**t) {
            Some("void") => self.parse_keyword_type(TypeKind::Void),
            Some("bool") => self.parse_keyword_type(TypeKind::Bool),
            Some("string") => self.parse_keyword_type(TypeKind::Str),
            Some("error") => self.parse_keyword_type(TypeKind::Error),
            Some("match_kind") => self.parse_keyword_type(TypeKind::MatchKind),
            Some("_") => self.parse_keyword_type(TypeKind::DontCare),
            Some("bit") => {
                self.bump();
                TypeKind::Bit(self.parse_width()?)
            }
            Some("int") => {
                self.bump();
                TypeKind::Int(self.parse_width()?)
            }
            Some("varbit") => {
                self.bump();
                match self.parse_width()? {
                    Some(width) => TypeKind::Varbit(width),
                    None => {
                        return self.error_unexpected("'<' and the maximum width after 'varbit'");
                    }
                }
            }
            Some("tuple") => {
                self.bump();
                self.expect("<", "after 'tuple'")?;
                TypeKind::Tuple(self.parse_list(">", Self::parse_type)?)
            }
            Some("list") if self.ahead(1).is("<") => {
                self.bump();
                self.bump();
                self.parse_type()?;
                self.expect(">", "after the element type")?;
                TypeKind::List
            }
            _ => {
                let global = self.eat(".");
                let name = self.parse_name("a type")?;
                let mut args = Vec::new();
                if self.peek().is("<") {
                    self.bump();
                    args = self.parse_list(">", Self::parse_type)?;
                }
                TypeKind::Named(name, global, args)
            }
        };
        let mut ty = Type { kind, span };
        while self.peek().is("[") {
            self.bump();
            let size = self.parse_expr()?;
            self.expect("]", "after the size of a stack")?;
            ty = Type { kind: TypeKind::Stack(Box::new(ty), Box::new(size)), span };
        }
        Ok(ty)
    }

    fn parse_keyword_type(&mut self, kind: TypeKind) -> TypeKind {
        self.bump();
        kind
    }

    /// Parses the width `<8>` or `<(expression)>`, if there is one.
    fn parse_width(&mut self) -> ParseResult<Option<Box<Expr>>> {
        if !self.eat("<") {
            return Ok(None);
        }
        let token = self.peek().clone();
        let expr = match &token.kind {
            TokenKind::Int { value, width, .. } => {
                self.bump();
                Expr { kind: ExprKind::Int(value.clone(), *width, 10), span: token.span }
            }
            TokenKind::Punct("(") => {
                self.bump();
                let expr = self.parse_expr()?;
                self.expect(")", "after the width")?;
                expr
            }
            _ => {
                return self.error_unexpected("a width: a number, or an expression in parentheses");
            }
        };
        self.expect(">", "after the width")?;
        Ok(Some(Box::new(expr)))
    }

    /// Parses type parameters `<T, U>`, if there are any.
    pub(super) fn parse_type_params(&mut self) -> ParseResult<Vec<Name>> {
        if !self.eat("<") {
            return Ok(Vec::new());
        }
        let names = self.parse_list(">", |p| p.parse_name("the name of a type parameter"))?;
        for (i, name) in names.iter().enumerate() {
            if names[..i].iter().any(|before| before.text == name.text) {
                let message = format!("There are two type parameters '{}'.", name.text);
                return self.error(name.span, message);
            }
        }
        Ok(names)
    }

    /// Parses the type arguments of a call `f<T, U>(x)`, if there are any. A trial distinguishes
    /// them from the operator `<`.
    pub(super) fn parse_call_type_args(&mut self) -> Option<Vec<Type>> {
        if !self.peek().is("<") {
            return None;
        }
        self.attempt(|p| {
            p.bump();
            let args = p.parse_list(">", Self::parse_type)?;
            if p.peek().is("(") { Ok(args) } else { Err(ParseFailed) }
        })
    }

    /// Parses the `(type)` of a cast, if there is one.
    pub(super) fn parse_cast_type(&mut self) -> Option<(Type, Span)> {
        let word = self.ahead(1).ident()?;
        let builtin = matches!(
            &**word,
            "bit" | "int" | "bool" | "varbit" | "error" | "string" | "tuple" | "list"
        );
        self.attempt(|p| {
            let span = p.bump().span;
            let ty = p.parse_type()?;
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
