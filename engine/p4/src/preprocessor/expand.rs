//! Macro expansion: calls, rescanning, and names that are not expanded again.
//!
//! Tokens come from a stack of contexts, and below it from the files. An expansion is a context
//! that is read again together with the tokens after it. Its macro is disabled until the context
//! is left; a name that is read meanwhile is painted and stays a name for ever.

use netkv_ir::Span;

use super::contexts::{Context, Reading};
use super::lexer::{Kind, Token};
use super::macros::Params;
use super::state::Preprocessor;
use super::substitute::{Argument, Call};

const MAX_TOKENS: usize = 2_000_000;
/// Maximum length of the text that `#` and `##` make, in bytes.
const MAX_TEXT: usize = 16 << 20;
const MAX_DEPTH: usize = 300;

impl Preprocessor<'_> {
    /// The next token after macro expansion.
    pub(super) fn next_expanded(&mut self) -> Token {
        let mut space_before = false;
        let mut boundary = false;
        loop {
            let mut token = self.next_token(Reading::Program);
            token.space_before |= space_before;
            token.boundary |= boundary;
            if token.kind != Kind::Identifier || token.painted {
                return token;
            }
            if let Some(made) = self.builtin(&token) {
                return made;
            }
            if !self.enter(&token) {
                return token;
            }
            // Of an expansion to nothing, the space remains.
            space_before = token.space_before;
            boundary = true;
        }
    }

    /// The tokens of a directive or an argument after expansion.
    pub(super) fn expand_list(&mut self, tokens: &[Token]) -> Vec<Token> {
        let mut out = Vec::new();
        if !self.isolate(tokens) {
            return out;
        }
        loop {
            let token = self.next_expanded();
            if token.kind == Kind::End {
                break;
            }
            out.push(token);
        }
        self.end_isolation();
        out
    }

    /// Lets only these tokens be read until [`Self::end_isolation`]. False if this is nested too
    /// deeply, which is reported.
    pub(super) fn isolate(&mut self, tokens: &[Token]) -> bool {
        if self.depth >= MAX_DEPTH {
            let span = tokens.first().map_or(self.last_span, |token| token.span);
            self.stop(span, "Macros are nested too deeply.".into());
            return false;
        }
        self.depth += 1;
        let tokens = tokens.to_vec();
        self.contexts.push(Context { tokens, at: 0, name: None, isolated: true });
        true
    }

    pub(super) fn end_isolation(&mut self) {
        self.depth -= 1;
        while let Some(context) = self.contexts.pop() {
            self.left(&context);
            if context.isolated {
                return;
            }
        }
    }

    fn left(&mut self, context: &Context) {
        if let Some(name) = &context.name
            && let Some(count) = self.disabled.get_mut(name)
        {
            *count -= 1;
        }
    }

    /// The next token without expansion. A name of a disabled macro is painted.
    pub(super) fn next_token(&mut self, reading: Reading) -> Token {
        let mut boundary = false;
        while let Some(context) = self.contexts.last_mut() {
            if let Some(token) = context.tokens.get(context.at) {
                let mut token = token.clone();
                context.at += 1;
                token.boundary |= boundary;
                if !self.count(&token) {
                    return self.end(token.span);
                }
                if token.kind == Kind::Identifier
                    && self.disabled.get(&token.text).is_some_and(|count| *count > 0)
                {
                    token.painted = true;
                }
                return token;
            }
            if context.isolated {
                return self.end(self.last_span);
            }
            boundary = true;
            if let Some(context) = self.contexts.pop() {
                self.left(&context);
            }
        }
        match self.next_in_files(reading) {
            Some(mut token) if self.count(&token) => {
                token.boundary |= boundary;
                token
            }
            _ => self.end(self.last_span),
        }
    }

    pub(super) fn end(&self, span: Span) -> Token {
        Token::new(Kind::End, "", span)
    }

    /// Counts a token; false if there are too many.
    fn count(&mut self, token: &Token) -> bool {
        self.last_span = token.span;
        self.tokens += 1;
        if self.tokens > MAX_TOKENS {
            self.stop(token.span, format!("Macros expand to more than {MAX_TOKENS} tokens."));
        }
        !self.stopped
    }

    /// Counts text that `#` or `##` makes.
    pub(super) fn charge(&mut self, bytes: usize, span: Span) {
        self.text_bytes += bytes;
        if self.text_bytes > MAX_TEXT {
            let limit = MAX_TEXT >> 20;
            self.stop(span, format!("'#' and '##' make more than {limit} MiB of text."));
        }
    }

    /// Reports that a limit is exceeded, and ends the preprocessing.
    fn stop(&mut self, span: Span, message: String) {
        if !self.stopped {
            self.stopped = true;
            self.reporter.error(span, message);
        }
    }

    /// Starts the expansion of a name, if it is a macro that can be expanded here.
    fn enter(&mut self, token: &Token) -> bool {
        let Some(found) = self.macros.get(&token.text).cloned() else { return false };
        if self.disabled.get(&token.text).is_some_and(|count| *count > 0) {
            return false;
        }
        let tokens = match &found.params {
            None => self.object_body(&found.body, token.span),
            Some(params) => {
                if !self.opens_call() {
                    return false;
                }
                let args = self.arguments(token, params);
                match args.and_then(|args| self.checked_call(token, params, args)) {
                    Some(mut call) => self.substitute(&found.body, &mut call, true),
                    // The error was reported.
                    None => return true,
                }
            }
        };
        self.push_expansion(token, tokens);
        true
    }

    fn push_expansion(&mut self, token: &Token, mut tokens: Vec<Token>) {
        if let Some(first) = tokens.first_mut() {
            first.space_before = token.space_before;
            first.starts_line = token.starts_line;
            first.boundary = true;
        }
        *self.disabled.entry(token.text.clone()).or_insert(0) += 1;
        let name = Some(token.text.clone());
        self.contexts.push(Context { tokens, at: 0, name, isolated: false });
    }

    /// Reads the `(` of a call, if it is the next token.
    fn opens_call(&mut self) -> bool {
        let next = self.next_token(Reading::Ahead);
        if next.is("(") {
            return true;
        }
        if next.kind != Kind::End {
            let tokens = vec![next];
            self.contexts.push(Context { tokens, at: 0, name: None, isolated: false });
        }
        false
    }

    /// The arguments of a call, whose `(` was read.
    fn arguments(&mut self, name: &Token, params: &Params) -> Option<Vec<Argument>> {
        let reading = Reading::Arguments(self.inputs.len());
        let mut args = vec![Vec::new()];
        let mut open = 0;
        loop {
            let mut token = self.next_token(reading);
            if token.kind == Kind::End {
                let message = format!("The call of macro '{}' has no closing ')'.", name.text);
                if !self.stopped {
                    self.reporter.error(name.span, message);
                }
                return None;
            }
            // A call becomes one line.
            token.space_before |= token.starts_line;
            token.starts_line = false;
            token.after_lines = false;
            if token.is(")") && open == 0 {
                return Some(args.into_iter().map(Argument::new).collect());
            }
            let variable = params.variadic && args.len() == params.names.len();
            if token.is(",") && open == 0 && !variable {
                args.push(Vec::new());
                continue;
            }
            open += i32::from(token.is("(")) - i32::from(token.is(")"));
            if let Some(last) = args.last_mut() {
                last.push(token);
            }
        }
    }

    /// The call, if the number of its arguments is right.
    fn checked_call<'b>(
        &mut self,
        name: &Token,
        params: &'b Params,
        mut args: Vec<Argument>,
    ) -> Option<Call<'b>> {
        let count = params.names.len();
        let empty = args.len() == 1 && args[0].tokens.is_empty();
        if count == 0 && empty {
            args.clear();
        }
        let omitted = params.variadic && (args.len() + 1 == count || (count == 1 && empty));
        if omitted && args.len() < count {
            args.push(Argument::default());
        }
        if args.len() != count {
            let least = count - usize::from(params.variadic);
            let takes = match (params.variadic, least) {
                (true, 1) => "at least 1 argument".to_string(),
                (true, _) => format!("at least {least} arguments"),
                (false, 1) => "1 argument".to_string(),
                (false, _) => format!("{count} arguments"),
            };
            let given = match args.len() {
                1 => "1 is given".to_string(),
                given => format!("{given} are given"),
            };
            let message = format!("Macro '{}' takes {takes}, but {given}.", name.text);
            self.reporter.error(name.span, message);
            return None;
        }
        Some(Call { params, args, omitted, span: name.span })
    }
}
