//! Parses declarations.

use super::state::{ParseFailed, ParseResult, Parser};
use crate::ast::{
    Annotation, BlockBody, BlockDecl, Decl, DeclKind, Dir, Field, Name, Param, Signature,
    StructKind, TypeKind,
};
use crate::diagnostics::did_you_mean;
use crate::token::TokenKind;

/// Keywords that start a top-level declaration.
const TOP_LEVEL_KEYWORDS: &[&str] = &[
    "action",
    "bit",
    "bool",
    "const",
    "control",
    "enum",
    "error",
    "extern",
    "header",
    "header_union",
    "int",
    "match_kind",
    "package",
    "parser",
    "struct",
    "type",
    "typedef",
    "void",
];
/// Keywords that start a declaration in a parser.
const PARSER_KEYWORDS: &[&str] = &["bit", "bool", "const", "error", "int", "state", "value_set"];
/// Keywords that start a declaration in a control.
const CONTROL_KEYWORDS: &[&str] =
    &["action", "apply", "bit", "bool", "const", "error", "int", "table"];

impl Parser<'_> {
    pub(super) fn parse_top_level(&mut self) -> ParseResult<Decl> {
        let annotations = self.parse_annotations()?;
        let span = self.span();
        let word = self.peek().ident().cloned();
        let kind = match word.as_deref() {
            Some("const") => return self.parse_const(annotations),
            Some("typedef") => {
                self.bump();
                return self.parse_typedef(annotations, false);
            }
            Some("type") => {
                self.bump();
                return self.parse_typedef(annotations, true);
            }
            Some("struct") => self.parse_struct_decl(StructKind::Struct)?,
            Some("header") => self.parse_struct_decl(StructKind::Header)?,
            Some("header_union") => self.parse_struct_decl(StructKind::Union)?,
            Some("enum") => self.parse_enum_decl()?,
            Some("error") if self.ahead(1).is("{") => {
                self.bump();
                DeclKind::Errors(self.parse_names()?)
            }
            Some("value_set") if self.ahead(1).is("<") => {
                return self.error(span, "A value set can only be declared in a parser.");
            }
            Some("match_kind") if self.ahead(1).is("{") => {
                self.bump();
                DeclKind::MatchKinds(self.parse_names()?)
            }
            Some("extern") => self.parse_extern_decl()?,
            Some("action") => return self.parse_action(annotations),
            Some("parser") => return self.parse_parser_or_control(annotations, true),
            Some("control") => return self.parse_parser_or_control(annotations, false),
            Some("package") => {
                self.bump();
                let name = self.parse_name("the name of a package")?;
                let type_params = self.parse_type_params()?;
                self.parse_params()?;
                self.expect(";", "after a package")?;
                DeclKind::Package { name, type_params }
            }
            _ => return self.parse_typed_decl(annotations, TOP_LEVEL_KEYWORDS),
        };
        Ok(Decl { annotations, kind, span })
    }

    /// Parses an instance, a function or a variable, which all start with a type. `words` are the
    /// keywords that may start a declaration here; error messages propose them.
    fn parse_typed_decl(
        &mut self,
        annotations: Vec<Annotation>,
        words: &[&str],
    ) -> ParseResult<Decl> {
        let span = self.span();
        let Some(ty) = self.attempt(Self::parse_type) else {
            return self.error_unexpected("a declaration");
        };
        if self.peek().is("(") {
            let args = self.parse_args()?;
            let name = self.parse_name("the name of the instance")?;
            if self.peek().is("=") {
                return self.error(span, "An instance with abstract methods is not supported yet.");
            }
            self.expect(";", "after an instance")?;
            return Ok(Decl { annotations, kind: DeclKind::Instance { ty, args, name }, span });
        }
        if self.peek().ident().is_some() && (self.ahead(1).is("(") || self.ahead(1).is("<")) {
            let signature = self.parse_signature(ty)?;
            let body = self.parse_block("before the body of a function")?;
            return Ok(Decl { annotations, kind: DeclKind::Function(signature, body), span });
        }
        let named = self.peek().ident().is_some();
        if let (TypeKind::Named(name, ..), true) = (&ty.kind, !named || self.ahead(1).is("{")) {
            let hint = did_you_mean(&name.text, words.iter().copied());
            let text = name.text.clone();
            return self
                .error(span, format!("Expected a declaration, but '{text}' starts none.{hint}"));
        }
        self.parse_variable(annotations, ty)
    }

    pub(super) fn parse_const(&mut self, annotations: Vec<Annotation>) -> ParseResult<Decl> {
        let span = self.bump().span;
        let ty = self.parse_type()?;
        let name = self.parse_name("the name of a constant")?;
        self.expect("=", "after the name of a constant")?;
        let value = self.parse_expr()?;
        self.expect(";", "after the value of a constant")?;
        Ok(Decl { annotations, kind: DeclKind::Const { ty, name, value }, span })
    }

    fn parse_typedef(&mut self, annotations: Vec<Annotation>, new_type: bool) -> ParseResult<Decl> {
        let span = self.span();
        if !new_type {
            for (word, kind) in [
                ("struct", StructKind::Struct),
                ("header", StructKind::Header),
                ("header_union", StructKind::Union),
            ] {
                if self.peek().is_word(word) {
                    let kind = self.parse_struct_decl(kind)?;
                    return Ok(Decl { annotations, kind, span });
                }
            }
        }
        let ty = self.parse_type()?;
        let name = self.parse_name("the name of the type")?;
        self.expect(";", "after the definition of a type")?;
        Ok(Decl { annotations, kind: DeclKind::Typedef { ty, name, new_type }, span })
    }

    fn parse_struct_decl(&mut self, kind: StructKind) -> ParseResult<DeclKind> {
        self.bump();
        let name = self.parse_name("the name of the type")?;
        let type_params = self.parse_type_params()?;
        self.expect("{", "before the fields")?;
        let mut fields = Vec::new();
        while !self.eat("}") {
            if self.at_end() {
                return self.error_unexpected("'}' after the fields");
            }
            let (from, depth) = (self.at, self.depth);
            match self.parse_field() {
                Ok(field) => fields.push(field),
                Err(ParseFailed) => {
                    self.depth = depth;
                    self.recover_in_block(from);
                }
            }
        }
        Ok(DeclKind::Struct { kind, name, type_params, fields })
    }

    fn parse_field(&mut self) -> ParseResult<Field> {
        let annotations = self.parse_annotations()?;
        let ty = self.parse_type()?;
        let name = self.parse_name("the name of a field")?;
        self.expect(";", "after a field")?;
        Ok(Field { annotations, ty, name })
    }

    fn parse_names(&mut self) -> ParseResult<Vec<Name>> {
        let span = self.expect("{", "before the names")?;
        if self.peek().is("}") {
            return self.error(span, "Expected a name at least between these braces.");
        }
        self.parse_list("}", |p| {
            p.parse_annotations()?;
            p.parse_name("a name")
        })
    }

    fn parse_enum_decl(&mut self) -> ParseResult<DeclKind> {
        self.bump();
        let repr = match self.peek().ident().map(|t| &**t) {
            Some("bit" | "int") => Some(self.parse_type()?),
            _ if !self.ahead(1).is("{") => Some(self.parse_type()?),
            _ => None,
        };
        let name = self.parse_name("the name of the enum")?;
        self.expect("{", "before the members of an enum")?;
        let members = self.parse_list("}", |p| {
            p.parse_annotations()?;
            let name = p.parse_name("the name of a member")?;
            let value = match p.eat("=") {
                true => Some(p.parse_expr()?),
                false => None,
            };
            Ok((name, value))
        })?;
        if members.is_empty() {
            self.reporter.error(name.span, format!("Enum '{}' has no member.", name.text));
        }
        Ok(DeclKind::Enum { name, repr, members })
    }

    fn parse_extern_decl(&mut self) -> ParseResult<DeclKind> {
        self.bump();
        let start = self.at;
        let is_object = self.attempt(|p| {
            p.parse_name("")?;
            p.parse_type_params()?;
            if p.peek().is("{") { Ok(()) } else { Err(ParseFailed) }
        });
        self.at = start;
        if is_object.is_none() {
            let result = self.parse_type()?;
            let signature = self.parse_signature(result)?;
            self.expect(";", "after an extern function")?;
            return Ok(DeclKind::ExternFunction(signature));
        }
        let name = self.parse_name("the name of the extern")?;
        let type_params = self.parse_type_params()?;
        self.expect("{", "before the methods")?;
        let mut methods = Vec::new();
        while !self.eat("}") {
            self.parse_annotations()?;
            if self.peek().is_word("abstract") {
                let span = self.span();
                return self.error(span, "An abstract method is not supported yet.");
            }
            let constructor = self.peek().is_word(&name.text) && self.ahead(1).is("(");
            let signature = if constructor {
                let name = self.parse_name("the constructor")?;
                let params = self.parse_params()?;
                Signature { result: None, name, type_params: Vec::new(), params }
            } else {
                let result = self.parse_type()?;
                self.parse_signature(result)?
            };
            self.expect(";", "after a method")?;
            methods.push(signature);
        }
        Ok(DeclKind::Extern { name, type_params, methods })
    }

    /// Parses name, type parameters and parameters, after the result type.
    fn parse_signature(&mut self, result: crate::ast::Type) -> ParseResult<Signature> {
        let name = self.parse_name("the name of a function")?;
        let type_params = self.parse_type_params()?;
        let params = self.parse_params()?;
        Ok(Signature { result: Some(result), name, type_params, params })
    }

    fn parse_params(&mut self) -> ParseResult<Vec<Param>> {
        self.expect("(", "before the parameters")?;
        self.parse_list(")", |p| {
            let annotations = p.parse_annotations()?;
            let dir = match p.peek().ident().map(|t| &**t) {
                Some("in") => Dir::In,
                Some("out") => Dir::Out,
                Some("inout") => Dir::InOut,
                _ => Dir::None,
            };
            if dir != Dir::None {
                p.bump();
            }
            let ty = p.parse_type()?;
            let name = p.parse_name("the name of a parameter")?;
            let default = match p.eat("=") {
                true => Some(p.parse_expr()?),
                false => None,
            };
            Ok(Param { annotations, dir, ty, name, default })
        })
    }

    fn parse_action(&mut self, annotations: Vec<Annotation>) -> ParseResult<Decl> {
        let span = self.bump().span;
        let name = self.parse_name("the name of an action")?;
        let params = self.parse_params()?;
        let body = self.parse_block("before the body of an action")?;
        Ok(Decl { annotations, kind: DeclKind::Action { name, params, body }, span })
    }

    fn parse_parser_or_control(
        &mut self,
        annotations: Vec<Annotation>,
        is_parser: bool,
    ) -> ParseResult<Decl> {
        let span = self.bump().span;
        let name = self.parse_name("a name")?;
        let type_params = self.parse_type_params()?;
        let params = self.parse_params()?;
        let ctor_params = if self.peek().is("(") { self.parse_params()? } else { Vec::new() };
        let body = match self.eat(";") {
            true => None,
            false => Some(self.parse_block_body(is_parser)?),
        };
        let block = BlockDecl { is_parser, name, type_params, params, ctor_params, body };
        Ok(Decl { annotations, kind: DeclKind::Block(block), span })
    }

    fn parse_block_body(&mut self, is_parser: bool) -> ParseResult<BlockBody> {
        self.expect("{", "before the body")?;
        let mut body = BlockBody { locals: Vec::new(), states: Vec::new(), apply: Vec::new() };
        let mut applied = false;
        while !self.eat("}") {
            if self.at_end() {
                return self.error_unexpected("'}' to close the body");
            }
            let (from, depth) = (self.at, self.depth);
            if self.parse_local(is_parser, &mut body, &mut applied).is_err() {
                self.depth = depth;
                self.recover_in_block(from);
            }
        }
        if !is_parser && !applied {
            let span = self.ahead(0).span;
            let span = if self.at > 0 { self.tokens[self.at - 1].span } else { span };
            return self.error(span, "This control has no 'apply' block.");
        }
        Ok(body)
    }

    fn parse_local(
        &mut self,
        is_parser: bool,
        body: &mut BlockBody,
        applied: &mut bool,
    ) -> ParseResult<()> {
        if self.peek().is(";") {
            let span = self.bump().span;
            self.reporter.error(span, "Expected a declaration, not ';'.");
            return Ok(());
        }
        let annotations = self.parse_annotations()?;
        let token = self.peek().clone();
        let words = if is_parser { PARSER_KEYWORDS } else { CONTROL_KEYWORDS };
        let decl = match token.ident().map(|t| &**t) {
            _ if *applied => {
                return self
                    .error_unexpected("'}' after the 'apply' block, which is the last part");
            }
            Some("state") if is_parser => {
                body.states.push(self.parse_state()?);
                return Ok(());
            }
            Some("apply") if !is_parser => {
                self.bump();
                *applied = true;
                body.apply = self.parse_block("after 'apply'")?;
                return Ok(());
            }
            _ if !body.states.is_empty() => {
                return self.error_unexpected("a state; declarations stand before the states");
            }
            Some("const") => self.parse_const(annotations)?,
            Some("action") if !is_parser => self.parse_action(annotations)?,
            Some("table") if !is_parser => self.parse_table(annotations)?,
            Some("value_set") if self.ahead(1).is("<") && !is_parser => {
                return self.error(token.span, "A value set can only be declared in a parser.");
            }
            Some("value_set") if self.ahead(1).is("<") => self.parse_value_set(annotations)?,
            Some(_) => self.parse_typed_decl(annotations, words)?,
            None if matches!(token.kind, TokenKind::Punct(".")) => {
                self.parse_typed_decl(annotations, words)?
            }
            None if is_parser => return self.error_unexpected("a state or a declaration"),
            None => return self.error_unexpected("an action, a table, 'apply' or a declaration"),
        };
        body.locals.push(decl);
        Ok(())
    }

    fn parse_value_set(&mut self, annotations: Vec<Annotation>) -> ParseResult<Decl> {
        let span = self.bump().span;
        self.expect("<", "after 'value_set'")?;
        let ty = self.parse_type()?;
        self.expect(">", "after the type of a value set")?;
        self.expect("(", "before the size of a value set")?;
        let size = self.parse_expr()?;
        self.expect(")", "after the size of a value set")?;
        let name = self.parse_name("the name of a value set")?;
        self.expect(";", "after a value set")?;
        Ok(Decl { annotations, kind: DeclKind::ValueSet { ty, size, name }, span })
    }
}
