//! The preprocessor: turns source text into tokens, with includes, conditionals and macros applied.
//!
//! `macros` expands macros, and `condition` evaluates `#if`. The span of a token from a macro is
//! the position where the program uses the macro.

mod condition;
mod macros;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use netkv_ir::Span;

use crate::Options;
use crate::diagnostics::{Reporter, did_you_mean};
use crate::preprocessor::macros::{Macro, number};
use crate::token::{Token, TokenKind, lex};

const CORE: &str = include_str!("../../include/core.p4");
const V1MODEL: &str = include_str!("../../include/v1model.p4");
const MAX_INCLUDE_DEPTH: usize = 64;
/// Line markers with larger numbers are ignored.
const MAX_MARKED_LINE: u32 = 1 << 30;
const DIRECTIVES: &[&str] = &[
    "include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error",
    "warning", "pragma", "line",
];

/// An `#if` whose `#endif` has not been reached.
struct Conditional {
    span: Span,
    /// The current branch is compiled.
    active: bool,
    /// All later branches are skipped: one branch was active, or the enclosing text is skipped.
    done: bool,
    else_seen: bool,
}

/// The origin of the lines after a line marker.
struct Marker {
    file: u32,
    /// Number of the first line there.
    line: u32,
    /// Line of the marker.
    after: u32,
}

impl Marker {
    fn apply(&self, span: &mut Span) {
        span.file = self.file;
        span.line = span.line - self.after - 1 + self.line;
    }
}

pub(crate) struct Preprocessor<'a> {
    pub(crate) reporter: &'a mut Reporter,
    options: &'a Options,
    pub(crate) macros: HashMap<Rc<str>, Macro>,
    out: Vec<Token>,
    /// Number of tokens that macro expansion has processed.
    pub(crate) expanded_tokens: usize,
    pub(crate) limit_reported: bool,
    depth: usize,
}

/// Preprocesses `text` and the files that it includes.
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
        expanded_tokens: 0,
        limit_reported: false,
        depth: 0,
    };
    for (name, value) in &options.defines {
        let mut body = lex(0, value.as_deref().unwrap_or("1"));
        body.pop();
        pp.macros.insert(name.as_str().into(), Macro { params: None, body });
    }
    let end = pp.file(name, text);
    let mut out = pp.out;
    out.push(Token { kind: TokenKind::Eof, span: end, starts_line: true, space_before: true });
    out
}

impl Preprocessor<'_> {
    fn file(&mut self, name: &str, text: &str) -> Span {
        let file = self.reporter.add_file(name, text);
        let tokens = lex(file, text);
        let lines: Vec<&str> = text.lines().collect();
        let mut conditionals: Vec<Conditional> = Vec::new();
        let mut marker: Option<Marker> = None;
        let mut at = 0;
        while at < tokens.len() && tokens[at].kind != TokenKind::Eof {
            let from = at;
            let directive = tokens[at].starts_line && tokens[at].is("#");
            at += 1;
            while at < tokens.len()
                && tokens[at].kind != TokenKind::Eof
                && !(tokens[at].starts_line && (directive || tokens[at].is("#")))
            {
                at += 1;
            }
            let active = conditionals.iter().all(|c| c.active);
            if directive {
                let line = tokens[from].span.line as usize;
                let raw = lines.get(line - 1).copied().unwrap_or("");
                if let Some(found) =
                    self.line_marker(&tokens[from..at], &lines[line.min(lines.len())..])
                {
                    marker = Some(found);
                    continue;
                }
                self.directive(&tokens[from..at], raw, active, &mut conditionals, Path::new(name));
            } else if active {
                let expanded = match &marker {
                    None => self.expand(&tokens[from..at], &mut Vec::new()),
                    Some(marker) => {
                        let mut moved = tokens[from..at].to_vec();
                        moved.iter_mut().for_each(|token| marker.apply(&mut token.span));
                        self.expand(&moved, &mut Vec::new())
                    }
                };
                self.out.extend(expanded);
            }
        }
        for cond in conditionals {
            self.reporter.error(cond.span, "This conditional has no '#endif'.");
        }
        tokens.last().map(|t| t.span).unwrap_or_default()
    }

    /// A line marker `# 12 "file"` or `#line 12 "file"`: the lines after it are those of that file
    /// from that line on. `following` are these lines.
    fn line_marker(&mut self, tokens: &[Token], following: &[&str]) -> Option<Marker> {
        let rest = match tokens.get(1)?.is_word("line") {
            true => &tokens[2..],
            false => &tokens[1..],
        };
        let TokenKind::Int { value, .. } = &rest.first()?.kind else { return None };
        let line = u32::try_from(value).ok().filter(|line| (1..MAX_MARKED_LINE).contains(line))?;
        let name = match rest.get(1).map(|token| &token.kind) {
            Some(TokenKind::Str(name)) => name.to_string(),
            _ => self.reporter.file_name(tokens[0].span),
        };
        let next = following.iter().position(|line| {
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
            directive.is_some_and(|d| {
                d.starts_with("line") || d.starts_with(|c: char| c.is_ascii_digit())
            })
        });
        let text = following[..next.unwrap_or(following.len())].join("\n");
        let file = self.reporter.add_part_of_file(&name, line, &text);
        Some(Marker { file, line, after: tokens[0].span.line })
    }

    fn directive(
        &mut self,
        line: &[Token],
        raw: &str,
        active: bool,
        conditionals: &mut Vec<Conditional>,
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
                let cond =
                    Conditional { span, active: holds, done: holds || !active, else_seen: false };
                conditionals.push(cond);
            }
            "elif" | "else" => {
                let Some(mut cond) = conditionals.pop() else {
                    self.reporter.error(span, format!("'#{word}' without '#if' before it."));
                    return;
                };
                if cond.else_seen {
                    self.reporter.error(span, format!("'#{word}' after '#else'."));
                }
                cond.else_seen |= word == "else";
                cond.active = !cond.done && (word == "else" || self.condition(rest, span));
                cond.done |= cond.active;
                conditionals.push(cond);
            }
            "endif" => {
                if conditionals.pop().is_none() {
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
            // A line marker with a number that is too large.
            _ if matches!(head.kind, TokenKind::Int { .. }) => {}
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
        // 'defined' is evaluated before expansion, because its operand must not be expanded.
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
            _ => match self.expand(rest, &mut Vec::new()).first().map(|t| t.kind.clone()) {
                Some(TokenKind::Str(path)) => return self.include_path(&path, true, span, from),
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
        if body.first().is_some_and(|t| t.is("(") && !t.space_before) {
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
}
