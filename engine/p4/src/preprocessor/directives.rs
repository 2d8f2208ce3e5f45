//! Directives, and which text the conditional ones skip.

use std::rc::Rc;

use netkv_ir::Span;

use super::builtins::is_dynamic;
use super::input::Conditional;
use super::lexer::{Kind, Token, spelling};
use super::state::Preprocessor;
use crate::diagnostics::did_you_mean;

const DIRECTIVES: &[&str] = &[
    "include",
    "include_next",
    "import",
    "define",
    "undef",
    "if",
    "ifdef",
    "ifndef",
    "elif",
    "elifdef",
    "elifndef",
    "else",
    "endif",
    "error",
    "warning",
    "pragma",
    "line",
    "ident",
    "sccs",
];

impl Preprocessor<'_> {
    /// Executes a line that starts with `#`.
    pub(super) fn directive(&mut self, line: &[Token]) {
        let Some(head) = line.get(1) else { return };
        let marked = |mut span: Span| {
            if let Some(marker) = self.inputs.last().and_then(|input| input.marker.as_ref()) {
                marker.apply(&mut span);
            }
            span
        };
        let span = marked(head.span);
        let mut rest = line[2..].to_vec();
        rest.iter_mut().for_each(|token| token.span = marked(token.span));
        let rest = rest.as_slice();
        let active = self.conditionals().last().is_none_or(|it| it.active);
        let word = head.identifier().map_or("", |word| word);
        match word {
            "if" | "ifdef" | "ifndef" => {
                let holds = active && self.test(word, rest, span);
                let done = holds || !active;
                let conditional = Conditional { span, active: holds, done, else_seen: false };
                self.conditionals().push(conditional);
            }
            "elif" | "elifdef" | "elifndef" | "else" => self.alternative(word, rest, span),
            "endif" => {
                if self.conditionals().pop().is_none() {
                    self.reporter.error(span, "'#endif' without '#if' before it.");
                }
            }
            _ if !active => {}
            "include" | "include_next" | "import" => self.include(word, rest, span),
            "define" => self.define(rest, span),
            "undef" => {
                if let Some(name) = self.macro_name(rest, word, span) {
                    self.macros.remove(&name);
                    if is_dynamic(&name) {
                        self.undefined.insert(name);
                    }
                    self.expect_end(word, &rest[1..]);
                }
            }
            "error" => self.reporter.error(span, format!("#error {}", spelling(rest))),
            "warning" => self.reporter.warning(span, format!("#warning {}", spelling(rest))),
            "pragma" => self.pragma(rest, span),
            "line" => {
                let tokens = self.expand_list(rest);
                self.line_marker(line, &tokens, span);
            }
            "ident" | "sccs" => {}
            _ if head.kind == Kind::Number => self.line_marker(line, &line[1..], span),
            _ => {
                let hint = did_you_mean(word, DIRECTIVES.iter().copied());
                let message = format!("{} is not a preprocessor directive.{hint}", head.describe());
                match hint.is_empty() {
                    // As p4c, which takes such a line for a comment.
                    true => self.reporter.warning(span, format!("{message} The line is ignored.")),
                    false => self.reporter.error(span, message),
                }
            }
        }
    }

    fn conditionals(&mut self) -> &mut Vec<Conditional> {
        // A directive stands in a file that is being read.
        let last = self.inputs.len() - 1;
        &mut self.inputs[last].conditionals
    }

    /// Value of the condition of a directive.
    fn test(&mut self, word: &str, rest: &[Token], span: Span) -> bool {
        if matches!(word, "if" | "elif") {
            return self.condition(word, rest, span);
        }
        let Some(name) = self.macro_name(rest, word, span) else { return false };
        self.expect_end(word, &rest[1..]);
        self.is_defined(&name) != word.ends_with("ndef")
    }

    pub(super) fn is_defined(&self, name: &Rc<str>) -> bool {
        self.macros.contains_key(name) || is_dynamic(name) && !self.undefined.contains(name)
    }

    fn alternative(&mut self, word: &str, rest: &[Token], span: Span) {
        let Some(mut conditional) = self.conditionals().pop() else {
            return self.reporter.error(span, format!("'#{word}' without '#if' before it."));
        };
        if conditional.else_seen {
            self.reporter.error(span, format!("'#{word}' after '#else'."));
        }
        conditional.else_seen |= word == "else";
        // The condition after a branch that was compiled is not evaluated.
        conditional.active = !conditional.done && (word == "else" || self.test(word, rest, span));
        conditional.done |= conditional.active;
        self.conditionals().push(conditional);
    }

    pub(super) fn expect_end(&mut self, word: &str, rest: &[Token]) {
        if let Some(token) = rest.first() {
            let found = token.describe();
            let message = format!("The text from {found} on at the end of '#{word}' is ignored.");
            self.reporter.warning(token.span, message);
        }
    }

    fn pragma(&mut self, rest: &[Token], span: Span) {
        let word = rest.first().and_then(Token::identifier).map_or("", |word| word);
        match word {
            "once" => {
                if let Some(input) = self.inputs.last() {
                    self.once.insert(input.path.canonicalize().unwrap_or(input.path.clone()));
                }
            }
            "push_macro" | "pop_macro" => {
                let [_, open, name, close] = rest else {
                    return self
                        .reporter
                        .error(span, format!("Expected #pragma {word}(\"NAME\")."));
                };
                if !open.is("(") || name.kind != Kind::Str || !close.is(")") {
                    return self
                        .reporter
                        .error(span, format!("Expected #pragma {word}(\"NAME\")."));
                }
                let name: Rc<str> = name.text.trim_matches('"').into();
                if word == "push_macro" {
                    let now = self.macros.get(&name).cloned();
                    self.saved_macros.entry(name).or_default().push(now);
                } else if let Some(before) = self.saved_macros.get_mut(&name).and_then(Vec::pop) {
                    match before {
                        Some(before) => drop(self.macros.insert(name, before)),
                        None => drop(self.macros.remove(&name)),
                    }
                }
            }
            // As p4c, which ignores the others.
            _ => {}
        }
    }
}
