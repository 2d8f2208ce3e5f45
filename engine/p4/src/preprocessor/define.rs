//! `#define`: macro definitions.

use std::rc::Rc;

use netkv_ir::Span;

use super::lexer::Token;
use super::macros::{Macro, Params};
use super::state::Preprocessor;

/// Names that `#define` and `#undef` refuse.
const RESERVED: &[&str] = &["defined", "__VA_ARGS__", "__VA_OPT__", "__has_include"];

impl Preprocessor<'_> {
    /// The name after `#define` and its relatives; reports an error if there is none.
    pub(super) fn macro_name(
        &mut self,
        rest: &[Token],
        directive: &str,
        span: Span,
    ) -> Option<Rc<str>> {
        let Some(token) = rest.first() else {
            let message = format!("Expected the name of a macro after '#{directive}'.");
            self.reporter.error(span, message);
            return None;
        };
        let Some(name) = token.identifier() else {
            let found = token.describe();
            let message = format!(
                "Expected the name of a macro after '#{directive}', not {found}. Names are \
                 identifiers."
            );
            self.reporter.error(token.span, message);
            return None;
        };
        if matches!(directive, "define" | "undef") && RESERVED.contains(&&**name) {
            let message = format!("'{name}' is reserved and cannot be the name of a macro.");
            self.reporter.error(token.span, message);
            return None;
        }
        Some(name.clone())
    }

    pub(super) fn define(&mut self, rest: &[Token], span: Span) {
        let Some(name) = self.macro_name(rest, "define", span) else { return };
        let mut body = &rest[1..];
        let mut params = None;
        if body.first().is_some_and(|token| token.is("(") && !token.space_before) {
            let open = body[0].span;
            match parse_params(&body[1..]) {
                Ok((found, length)) => {
                    params = Some(found);
                    body = &body[1 + length..];
                }
                Err((place, message)) => {
                    let message = format!("In the definition of macro '{name}': {message}");
                    return self.reporter.error(place.unwrap_or(open), message);
                }
            }
        }
        let ends = [body.first(), body.last()];
        if let Some(token) = ends.into_iter().flatten().find(|token| token.is("##")) {
            let message = format!("The body of macro '{name}' starts or ends with '##'.");
            return self.reporter.error(token.span, message);
        }
        let mut body: Vec<Token> = body.to_vec();
        if let Some(first) = body.first_mut() {
            first.space_before = false;
        }
        let defined = Macro { params, body: body.into() };
        if self.macros.get(&name).is_some_and(|before| !same(before, &defined)) {
            let message = format!("Macro '{name}' is defined again, with another body.");
            self.reporter.warning(rest[0].span, message);
        }
        self.macros.insert(name, defined);
    }
}

/// Parameters after the `(`, and the number of their tokens with the `)`.
fn parse_params(tokens: &[Token]) -> Result<(Params, usize), (Option<Span>, String)> {
    let mut params = Params { names: Vec::new(), variadic: false };
    let mut at = 0;
    let fail = |token: Option<&Token>, expected: &str| {
        let found = token.map_or("the end of the line".to_string(), Token::describe);
        (token.map(|token| token.span), format!("expected {expected}, not {found}."))
    };
    if tokens.first().is_some_and(|token| token.is(")")) {
        return Ok((params, 1));
    }
    loop {
        let token = tokens.get(at);
        at += 1;
        match token {
            Some(found) if found.is("...") => {
                params.names.push("__VA_ARGS__".into());
                params.variadic = true;
            }
            Some(found) if found.identifier().is_some_and(|name| &**name != "__VA_ARGS__") => {
                if params.position(found).is_some() {
                    let message = format!("there are two parameters '{}'.", found.text);
                    return Err((Some(found.span), message));
                }
                params.names.push(found.text.clone());
                if tokens.get(at).is_some_and(|next| next.is("...")) {
                    params.variadic = true;
                    at += 1;
                }
            }
            _ => return Err(fail(token, "the name of a parameter")),
        }
        let token = tokens.get(at);
        at += 1;
        match token {
            Some(found) if found.is(")") => return Ok((params, at)),
            Some(found) if found.is(",") && !params.variadic => {}
            _ if params.variadic => return Err(fail(token, "')' after '...'")),
            _ => return Err(fail(token, "',' or ')' after a parameter")),
        }
    }
}

/// True if both definitions have the same parameters, tokens and places of white space.
fn same(a: &Macro, b: &Macro) -> bool {
    a.params == b.params
        && a.body.len() == b.body.len()
        && a.body
            .iter()
            .zip(b.body.iter())
            .all(|(a, b)| a.text == b.text && a.space_before == b.space_before)
}
