//! Macro expansion, with `#` and `##`.

use std::rc::Rc;

use netkv_ir::Span;

use crate::preprocessor::Preprocessor;
use crate::token::{Token, TokenKind, lex};

const MAX_TOKENS: usize = 2_000_000;
const MAX_EXPANSION_DEPTH: usize = 100;

pub(crate) struct Macro {
    /// Parameters; `None` for an object-like macro.
    pub params: Option<Vec<Rc<str>>>,
    pub body: Vec<Token>,
}

impl Preprocessor<'_> {
    /// Expands the macros in `input`. Those in `hidden` are being expanded, and must not recurse.
    pub(crate) fn expand(&mut self, input: &[Token], hidden: &mut Vec<Rc<str>>) -> Vec<Token> {
        let mut out = Vec::with_capacity(input.len());
        let mut at = 0;
        while at < input.len() {
            let token = &input[at];
            at += 1;
            self.expanded_tokens += 1;
            if self.expanded_tokens > MAX_TOKENS {
                if !self.limit_reported {
                    self.limit_reported = true;
                    let message = format!("Macros expand to more than {MAX_TOKENS} tokens.");
                    self.reporter.error(token.span, message);
                }
                return out;
            }
            let name = match &token.kind {
                TokenKind::Ident(name) if &**name == "__LINE__" => {
                    out.push(number(u64::from(token.span.line), token.span));
                    continue;
                }
                TokenKind::Ident(name) if &**name == "__FILE__" => {
                    let file = self.reporter.file_name(token.span);
                    out.push(Token { kind: TokenKind::Str(file.into()), ..token.clone() });
                    continue;
                }
                TokenKind::Ident(name) if !hidden.contains(name) => name.clone(),
                _ => {
                    out.push(token.clone());
                    continue;
                }
            };
            let Some(found) = self.macros.get(&name) else {
                out.push(token.clone());
                continue;
            };
            let (params, body) = (found.params.clone(), found.body.clone());
            let replaced = match params {
                None => paste(body),
                Some(params) => {
                    if !input.get(at).is_some_and(|t| t.is("(")) {
                        out.push(token.clone());
                        continue;
                    }
                    let Some((args, next)) = arguments(input, at) else {
                        self.reporter.error(
                            token.span,
                            format!("The call of macro '{name}' has no closing ')'."),
                        );
                        return out;
                    };
                    at = next;
                    if args.len() != params.len() && !(params.is_empty() && args.len() == 1) {
                        self.reporter.error(
                            token.span,
                            format!(
                                "Macro '{name}' takes {} arguments, but {} are given.",
                                params.len(),
                                args.len()
                            ),
                        );
                    }
                    self.substitute(&params, &body, &args, hidden)
                }
            };
            if hidden.len() >= MAX_EXPANSION_DEPTH {
                self.reporter.error(token.span, "Macros are nested too deeply.");
                return out;
            }
            hidden.push(name);
            for mut expanded in self.expand(&replaced, hidden) {
                expanded.span = token.span;
                expanded.starts_line = false;
                out.push(expanded);
            }
            hidden.pop();
        }
        out
    }

    fn substitute(
        &mut self,
        params: &[Rc<str>],
        body: &[Token],
        args: &[Vec<Token>],
        hidden: &mut Vec<Rc<str>>,
    ) -> Vec<Token> {
        let argument = |t: &Token| {
            let name = t.ident()?;
            let i = params.iter().position(|p| p == name)?;
            Some(args.get(i).cloned().unwrap_or_default())
        };
        let mut out = Vec::new();
        let mut at = 0;
        while at < body.len() {
            let token = &body[at];
            at += 1;
            if token.is("#")
                && let Some(arg) = body.get(at).and_then(argument)
            {
                let text: Vec<String> = arg.iter().map(Token::text).collect();
                out.push(Token { kind: TokenKind::Str(text.join(" ").into()), ..token.clone() });
                at += 1;
                continue;
            }
            let pasted = token.is("##")
                || body.get(at).is_some_and(|t| t.is("##"))
                || (at >= 2 && body[at - 2].is("##"));
            match argument(token) {
                Some(arg) if pasted => out.extend(arg),
                Some(arg) => out.extend(self.expand(&arg, hidden)),
                None => out.push(token.clone()),
            }
        }
        paste(out)
    }
}

pub(crate) fn number(value: u64, span: Span) -> Token {
    let kind = TokenKind::Int { value: value.into(), width: None, text: value.to_string().into() };
    Token { kind, span, starts_line: false, space_before: true }
}

/// Applies `##`: joins the tokens on both sides.
fn paste(body: Vec<Token>) -> Vec<Token> {
    if !body.iter().any(|t| t.is("##")) {
        return body;
    }
    let mut out: Vec<Token> = Vec::new();
    let mut join = false;
    for token in body {
        if token.is("##") {
            join = true;
        } else if join && let Some(left) = out.pop() {
            let text = format!("{}{}", left.text(), token.text());
            let mut joined = lex(left.span.file, &text);
            joined.pop();
            out.extend(joined.into_iter().map(|t| Token {
                span: left.span,
                starts_line: false,
                ..t
            }));
            join = false;
        } else {
            out.push(token);
        }
    }
    out
}

/// Arguments of a macro call whose `(` is at `open`, and the index after its `)`.
fn arguments(input: &[Token], open: usize) -> Option<(Vec<Vec<Token>>, usize)> {
    let mut args = vec![Vec::new()];
    let mut depth = 0usize;
    for (i, token) in input.iter().enumerate().skip(open) {
        match token.kind {
            TokenKind::Punct("(") if depth == 0 => depth = 1,
            TokenKind::Punct(")") if depth == 1 => return Some((args, i + 1)),
            TokenKind::Punct(",") if depth == 1 => args.push(Vec::new()),
            _ => {
                match token.kind {
                    TokenKind::Punct("(") => depth += 1,
                    TokenKind::Punct(")") => depth -= 1,
                    _ => {}
                }
                args.last_mut()?.push(token.clone());
            }
        }
    }
    None
}
