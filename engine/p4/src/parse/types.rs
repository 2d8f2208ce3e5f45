//! Types.

use netkv_ir::Span;

use super::{Failed, Parsed, Parser};
use crate::ast::{Expr, ExprKind, Name, Type, TypeKind};
use crate::token::Tok;

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.nested(Self::ty_inner)
    }

    fn ty_inner(&mut self) -> Parsed<Type> {
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

    /// `<8>` or `<(expression)>`, if there is one.
    fn width(&mut self) -> Parsed<Option<Box<Expr>>> {
        if !self.eat("<") {
            return Ok(None);
        }
        let token = self.peek().clone();
        let expr = match &token.tok {
            Tok::Int { value, width, .. } => {
                self.bump();
                Expr { kind: ExprKind::Int(value.clone(), *width), span: token.span }
            }
            Tok::Punct("(") => {
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

    /// `<T, U>` after the name of something generic.
    pub(super) fn type_params(&mut self) -> Parsed<Vec<Name>> {
        if !self.eat("<") {
            return Ok(Vec::new());
        }
        self.list(">", |p| p.name("the name of a type parameter"))
    }

    /// `<T, U>` in front of `(`, as in `f<T>(x)`; tells it from less-than by trial.
    pub(super) fn call_type_args(&mut self) -> Option<Vec<Type>> {
        if !self.peek().is("<") {
            return None;
        }
        self.attempt(|p| {
            p.bump();
            let args = p.list(">", Self::ty)?;
            if p.peek().is("(") { Ok(args) } else { Err(Failed) }
        })
    }

    /// Is a cast's `(type)` next, the parenthesis included? Gives the type when it is.
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
            // `(name)` alone is a cast only when an operand follows that cannot go on an
            // expression in parentheses.
            let operand = matches!(next.tok, Tok::Ident(_) | Tok::Int { .. } | Tok::Str(_))
                || next.is("(")
                || next.is("~")
                || next.is("!")
                || next.is("{")
                || next.is("...");
            if builtin || operand { Ok((ty, span)) } else { Err(Failed) }
        })
    }
}
