//! Parses annotations, and `@pragma` lines, which are annotations, too.

use std::ops::Range;
use std::rc::Rc;

use super::state::{ParseResult, Parser};
use crate::ast::Annotation;
use crate::token::TokenKind;

/// Annotations whose bodies are parsed as expressions.
const EXPR_ANNOTATIONS: &[&str] = &["field_list", "id", "priority"];

/// Annotations whose bodies are lists of `key = value`.
const PAIR_ANNOTATIONS: &[&str] = &["pkginfo", "platform_property"];

impl Parser<'_> {
    /// Parses the body of `@p4runtime_translation("uri", bit<W>)`, after the `(`. The second part
    /// is `string`, too, or a width alone.
    fn parse_translation(&mut self) -> ParseResult<(Rc<str>, Option<u32>)> {
        let TokenKind::Str(uri) = self.peek().kind.clone() else {
            return self.error_unexpected("a string, the URI of the translation");
        };
        self.bump();
        self.expect(",", "after the URI of the translation")?;
        if self.eat_word("string") {
            return Ok((uri, None));
        }
        let bits = self.eat_word("bit");
        if bits {
            self.expect("<", "after 'bit'")?;
        }
        let TokenKind::Int { value, .. } = self.peek().kind.clone() else {
            return self.error_unexpected("'bit<W>' with a number, or 'string'");
        };
        let Ok(width) = u32::try_from(value) else {
            return self.error_unexpected("a width");
        };
        self.bump();
        if bits {
            self.expect(">", "after the width")?;
        }
        Ok((uri, Some(width)))
    }

    pub(super) fn parse_annotations(&mut self) -> ParseResult<Vec<Annotation>> {
        let mut found = Vec::new();
        while self.peek().is("@") {
            let annotation = match self.ahead(1) {
                // One word in p4c; with a space, the annotation is called so.
                token if token.is_word("pragma") && !token.space_before => self.parse_pragma()?,
                _ => self.parse_annotation()?,
            };
            found.push(annotation);
        }
        Ok(found)
    }

    /// `@name`, `@name(body)` or `@name[body]`.
    fn parse_annotation(&mut self) -> ParseResult<Annotation> {
        let span = self.bump().span;
        let name = self.parse_annotation_name("after '@'")?;
        let structured = self.peek().is("[");
        if !structured && !self.peek().is("(") {
            return Ok(Annotation::new(name, span));
        }
        let open = self.bump();
        let from = self.at;
        let mut nesting = 1;
        while nesting > 0 {
            if self.at_end() {
                return self.error(span, "The body of this annotation has no end.");
            }
            match self.bump().kind {
                TokenKind::Punct("(" | "[" | "{") => nesting += 1,
                TokenKind::Punct(")" | "]" | "}") => nesting -= 1,
                _ => {}
            }
        }
        let body = from..self.at - 1;
        let mut annotation = Annotation { structured, ..Annotation::new(name, span) };
        annotation.text.push_str(&open.text());
        self.parse_annotation_body(&mut annotation, body.clone())?;
        annotation.text.push_str(&self.tokens[body.end].text());
        Ok(annotation)
    }

    /// `@pragma NAME BODY`: the body ends with the line.
    fn parse_pragma(&mut self) -> ParseResult<Annotation> {
        let span = self.bump().span;
        self.bump();
        if self.peek().starts_line {
            return self.error(span, "Expected the name of an annotation after '@pragma'.");
        }
        let name = self.parse_annotation_name("after '@pragma'")?;
        let from = self.at;
        while !self.peek().starts_line {
            self.bump();
        }
        let body = from..self.at;
        let mut open = 0;
        for token in &self.tokens[body.clone()] {
            open += i32::from(token.is("(")) - i32::from(token.is(")"));
            if open < 0 {
                break;
            }
        }
        if open != 0 {
            let message = "The parentheses of this '@pragma' do not match: it ends with its line.";
            return self.error(span, message);
        }
        let mut annotation = Annotation::new(name, span);
        if !body.is_empty() {
            annotation.text.push('(');
            self.parse_annotation_body(&mut annotation, body)?;
            annotation.text.push(')');
        }
        Ok(annotation)
    }

    fn parse_annotation_name(&mut self, whereabouts: &str) -> ParseResult<Rc<str>> {
        let token = self.bump();
        match token.ident() {
            Some(name) => Ok(name.clone()),
            None => {
                self.error(token.span, format!("Expected the name of an annotation {whereabouts}."))
            }
        }
    }

    /// Parses the tokens of a body, and goes on after the token behind it.
    fn parse_annotation_body(
        &mut self,
        annotation: &mut Annotation,
        body: Range<usize>,
    ) -> ParseResult<()> {
        let structured = annotation.structured;
        for (i, token) in self.tokens[body.clone()].iter().enumerate() {
            // As p4c, which writes the tokens of a body that it does not know with spaces.
            if i > 0 && !structured {
                annotation.text.push(' ');
            }
            let TokenKind::Str(text) = &token.kind else {
                annotation.text.push_str(&token.text());
                continue;
            };
            let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
            annotation.text.push_str(&format!("\"{quoted}\""));
            annotation.string.get_or_insert_with(|| text.clone());
        }
        let (after, end) = (self.at, body.end);
        self.at = body.start;
        if &*annotation.name == "p4runtime_translation" {
            annotation.translation = Some(self.parse_translation()?);
        } else if PAIR_ANNOTATIONS.contains(&&*annotation.name)
            || structured && self.at < end && self.ahead(1).is("=")
        {
            annotation.pairs = self.parse_body_list(end, |p| {
                let key = p.parse_name("the key of a value")?;
                p.expect("=", "after the key of a value")?;
                Ok((key, p.parse_expr()?))
            })?;
        } else if structured || EXPR_ANNOTATIONS.contains(&&*annotation.name) {
            annotation.exprs = self.parse_body_list(end, Self::parse_expr)?;
        }
        self.at = after;
        Ok(())
    }

    /// Parses items separated by commas, up to the token `end`.
    fn parse_body_list<T>(
        &mut self,
        end: usize,
        mut item: impl FnMut(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        let mut items = Vec::new();
        while self.at < end {
            items.push(item(self)?);
            if self.at < end && !self.eat(",") || self.at > end {
                return self.error_unexpected("',' or the end of the annotation");
            }
        }
        Ok(items)
    }
}
