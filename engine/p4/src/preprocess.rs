//! The preprocessor: includes, macros and conditionals, on tokens.
//!
//! Tokens that come from a macro carry the place where the macro was used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use netkv_ir::Span;

use crate::Options;
use crate::condition;
use crate::diag::{Reporter, did_you_mean};
use crate::token::{Tok, Token, lex};

const CORE: &str = include_str!("../include/core.p4");
const V1MODEL: &str = include_str!("../include/v1model.p4");
const MAX_INCLUDE_DEPTH: usize = 64;
const MAX_TOKENS: usize = 2_000_000;
const MAX_EXPANSION_DEPTH: usize = 100;
const DIRECTIVES: &[&str] = &[
    "include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error",
    "warning", "pragma", "line",
];

struct Macro {
    /// Parameters of a function-like macro.
    params: Option<Vec<Rc<str>>>,
    body: Vec<Token>,
}

/// A conditional that is open.
struct Cond {
    span: Span,
    /// Text is taken now.
    active: bool,
    /// A branch was taken already, or the whole conditional is inside skipped text.
    done: bool,
    else_seen: bool,
}

pub(crate) struct Preprocessor<'a> {
    reporter: &'a mut Reporter,
    options: &'a Options,
    macros: HashMap<Rc<str>, Macro>,
    out: Vec<Token>,
    /// Tokens made by expansion so far.
    made: usize,
    overflow: bool,
    depth: usize,
}

/// Reads `text` and everything it includes.
pub(crate) fn preprocess(
    name: &str,
    text: &str,
    options: &Options,
    reporter: &mut Reporter,
) -> Vec<Token> {
    let mut pp = Preprocessor {
        reporter,
        options,
        macros: HashMap::new(),
        out: Vec::new(),
        made: 0,
        overflow: false,
        depth: 0,
    };
    for (name, value) in &options.defines {
        let mut body = lex(0, value.as_deref().unwrap_or("1"));
        body.pop();
        pp.macros.insert(name.as_str().into(), Macro { params: None, body });
    }
    let end = pp.file(name, text);
    let mut out = pp.out;
    out.push(Token { tok: Tok::Eof, span: end, first: true, space: true });
    out
}

impl Preprocessor<'_> {
    fn file(&mut self, name: &str, text: &str) -> Span {
        let file = self.reporter.add_file(name, text);
        let tokens = lex(file, text);
        let lines: Vec<&str> = text.lines().collect();
        let mut conds: Vec<Cond> = Vec::new();
        let mut at = 0;
        while at < tokens.len() && tokens[at].tok != Tok::Eof {
            let from = at;
            let directive = tokens[at].first && tokens[at].is("#");
            at += 1;
            while at < tokens.len()
                && tokens[at].tok != Tok::Eof
                && !(tokens[at].first && (directive || tokens[at].is("#")))
            {
                at += 1;
            }
            let active = conds.iter().all(|c| c.active);
            if directive {
                let raw = lines.get(tokens[from].span.line as usize - 1).copied().unwrap_or("");
                self.directive(&tokens[from..at], raw, active, &mut conds, Path::new(name));
            } else if active {
                let expanded = self.expand(&tokens[from..at], &mut Vec::new());
                self.out.extend(expanded);
            }
        }
        for cond in conds {
            self.reporter.error(cond.span, "This conditional has no '#endif'.");
        }
        tokens.last().map(|t| t.span).unwrap_or_default()
    }

    fn directive(
        &mut self,
        line: &[Token],
        raw: &str,
        active: bool,
        conds: &mut Vec<Cond>,
        from: &Path,
    ) {
        let Some(head) = line.get(1) else { return };
        let span = head.span;
        let word = head.ident().map_or("", |t| t);
        let rest = &line[2..];
        match word {
            "if" | "ifdef" | "ifndef" => {
                let holds = active
                    && match word {
                        "if" => self.condition(rest, span),
                        _ => self.is_defined(rest, span) == (word == "ifdef"),
                    };
                let cond = Cond { span, active: holds, done: holds || !active, else_seen: false };
                conds.push(cond);
            }
            "elif" | "else" => {
                let Some(mut cond) = conds.pop() else {
                    self.reporter.error(span, format!("'#{word}' without '#if' before it."));
                    return;
                };
                if cond.else_seen {
                    self.reporter.error(span, format!("'#{word}' after '#else'."));
                }
                cond.else_seen |= word == "else";
                cond.active = !cond.done && (word == "else" || self.condition(rest, span));
                cond.done |= cond.active;
                conds.push(cond);
            }
            "endif" => {
                if conds.pop().is_none() {
                    self.reporter.error(span, "'#endif' without '#if' before it.");
                }
            }
            _ if !active => {}
            "include" => self.include(rest, raw, span, from),
            "define" => self.define(rest, span),
            "undef" => match rest.first().and_then(Token::ident) {
                Some(name) => {
                    self.macros.remove(name);
                }
                None => self.reporter.error(span, "Expected the name of a macro after '#undef'."),
            },
            "error" => {
                let text = raw.split_once("error").map_or("", |(_, t)| t.trim());
                self.reporter.error(span, format!("#error {text}"));
            }
            "warning" => {
                let text = raw.split_once("warning").map_or("", |(_, t)| t.trim());
                self.reporter.warning(span, format!("#warning {text}"));
            }
            "pragma" | "line" => {}
            _ => {
                let hint = did_you_mean(word, DIRECTIVES.iter().copied());
                let text = head.describe();
                self.reporter.error(span, format!("{text} is not a preprocessor directive.{hint}"));
            }
        }
    }

    fn is_defined(&mut self, rest: &[Token], span: Span) -> bool {
        match rest.first().and_then(Token::ident) {
            Some(name) => self.macros.contains_key(name),
            None => {
                self.reporter.error(span, "Expected the name of a macro.");
                false
            }
        }
    }

    fn condition(&mut self, rest: &[Token], span: Span) -> bool {
        let mut tokens = Vec::new();
        let mut at = 0;
        // 'defined' goes first: its operand must not be expanded.
        while at < rest.len() {
            if rest[at].is_word("defined") {
                let paren = rest.get(at + 1).is_some_and(|t| t.is("("));
                let name = rest.get(at + if paren { 2 } else { 1 }).and_then(Token::ident);
                let value = name.is_some_and(|n| self.macros.contains_key(n));
                tokens.push(number(u64::from(value), rest[at].span));
                at += if paren { 4 } else { 2 };
            } else {
                tokens.push(rest[at].clone());
                at += 1;
            }
        }
        let tokens = self.expand(&tokens, &mut Vec::new());
        match condition::evaluate(&tokens) {
            Ok(value) => value != 0,
            Err(message) => {
                let place = tokens.first().map_or(span, |t| t.span);
                self.reporter.error(place, message);
                false
            }
        }
    }

    fn include(&mut self, rest: &[Token], raw: &str, span: Span, from: &Path) {
        let text = raw.split_once("include").map_or("", |(_, t)| t).trim_start();
        let (local, path) = match (text.strip_prefix('"'), text.strip_prefix('<')) {
            (Some(t), _) => (true, t.split_once('"').map(|(p, _)| p)),
            (_, Some(t)) => (false, t.split_once('>').map(|(p, _)| p)),
            _ => match self.expand(rest, &mut Vec::new()).first().map(|t| t.tok.clone()) {
                Some(Tok::Str(path)) => return self.include_path(&path, true, span, from),
                _ => (false, None),
            },
        };
        match path {
            Some(path) if !path.is_empty() => self.include_path(path, local, span, from),
            _ => self.reporter.error(span, "Expected <file> or \"file\" after '#include'."),
        }
    }

    fn include_path(&mut self, path: &str, local: bool, span: Span, from: &Path) {
        if self.depth >= MAX_INCLUDE_DEPTH {
            self.reporter.error(
                span,
                format!("Includes are nested more than {MAX_INCLUDE_DEPTH} deep; '{path}' is left out. Does a file include itself?"),
            );
            return;
        }
        self.depth += 1;
        match path {
            "core.p4" => drop(self.file("core.p4", CORE)),
            "v1model.p4" => drop(self.file("v1model.p4", V1MODEL)),
            _ => {
                let beside = from.parent().unwrap_or(Path::new("")).to_path_buf();
                let mut places: Vec<PathBuf> = Vec::new();
                if local {
                    places.push(beside);
                }
                places.extend(self.options.include_dirs.iter().cloned());
                let found = places.iter().map(|d| d.join(path)).find(|p| p.is_file());
                match found.map(|p| (std::fs::read_to_string(&p), p)) {
                    Some((Ok(text), p)) => {
                        self.file(&p.to_string_lossy(), &text);
                    }
                    Some((Err(error), p)) => {
                        self.reporter
                            .error(span, format!("{} cannot be read: {error}.", p.display()));
                    }
                    None => {
                        let places: Vec<String> =
                            places.iter().map(|p| format!("'{}'", p.display())).collect();
                        let places = places.join(", ");
                        self.reporter.error(
                            span,
                            format!("There is no file '{path}' to include; searched: {places}."),
                        );
                    }
                }
            }
        }
        self.depth -= 1;
    }

    fn define(&mut self, rest: &[Token], span: Span) {
        let Some(name) = rest.first().and_then(Token::ident).cloned() else {
            self.reporter.error(span, "Expected the name of a macro after '#define'.");
            return;
        };
        let mut body = &rest[1..];
        let mut params = None;
        if body.first().is_some_and(|t| t.is("(") && !t.space) {
            let Some(close) = body.iter().position(|t| t.is(")")) else {
                self.reporter
                    .error(span, format!("Expected ')' after the parameters of '{name}'."));
                return;
            };
            params = Some(body[1..close].iter().filter_map(Token::ident).cloned().collect());
            body = &body[close + 1..];
        }
        self.macros.insert(name, Macro { params, body: body.to_vec() });
    }

    /// Expands macros in `input`; those in `hidden` are being expanded already.
    fn expand(&mut self, input: &[Token], hidden: &mut Vec<Rc<str>>) -> Vec<Token> {
        let mut out = Vec::with_capacity(input.len());
        let mut at = 0;
        while at < input.len() {
            let token = &input[at];
            at += 1;
            self.made += 1;
            if self.made > MAX_TOKENS {
                if !self.overflow {
                    self.overflow = true;
                    let message = format!("Macros expand to more than {MAX_TOKENS} tokens.");
                    self.reporter.error(token.span, message);
                }
                return out;
            }
            let name = match &token.tok {
                Tok::Ident(name) if &**name == "__LINE__" => {
                    out.push(number(u64::from(token.span.line), token.span));
                    continue;
                }
                Tok::Ident(name) if &**name == "__FILE__" => {
                    let file = self.reporter.file_name(token.span);
                    out.push(Token { tok: Tok::Str(file.into()), ..token.clone() });
                    continue;
                }
                Tok::Ident(name) if !hidden.contains(name) => name.clone(),
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
            for mut made in self.expand(&replaced, hidden) {
                made.span = token.span;
                made.first = false;
                out.push(made);
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
                out.push(Token { tok: Tok::Str(text.join(" ").into()), ..token.clone() });
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

fn number(value: u64, span: Span) -> Token {
    let tok = Tok::Int { value: value.into(), width: None, text: value.to_string().into() };
    Token { tok, span, first: false, space: true }
}

/// Carries out `##`.
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
            let mut made = lex(left.span.file, &text);
            made.pop();
            out.extend(made.into_iter().map(|t| Token { span: left.span, first: false, ..t }));
            join = false;
        } else {
            out.push(token);
        }
    }
    out
}

/// Arguments of a macro call whose `(` is at `open`, and the place after its `)`.
fn arguments(input: &[Token], open: usize) -> Option<(Vec<Vec<Token>>, usize)> {
    let mut args = vec![Vec::new()];
    let mut depth = 0usize;
    for (i, token) in input.iter().enumerate().skip(open) {
        match token.tok {
            Tok::Punct("(") if depth == 0 => depth = 1,
            Tok::Punct(")") if depth == 1 => return Some((args, i + 1)),
            Tok::Punct(",") if depth == 1 => args.push(Vec::new()),
            _ => {
                match token.tok {
                    Tok::Punct("(") => depth += 1,
                    Tok::Punct(")") => depth -= 1,
                    _ => {}
                }
                args.last_mut()?.push(token.clone());
            }
        }
    }
    None
}
