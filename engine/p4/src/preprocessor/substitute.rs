//! Replacement of parameters in the body of a macro, with `#`, `##`, `__VA_ARGS__` and
//! `__VA_OPT__`.

use netkv_ir::Span;

use super::lexer::{Kind, Token, single};
use super::macros::Params;
use super::state::Preprocessor;

/// One argument of a macro call.
#[derive(Debug, Clone, Default)]
pub(super) struct Argument {
    pub tokens: Vec<Token>,
    /// `tokens` after expansion, if it was needed.
    expanded: Option<Vec<Token>>,
}

/// A call of a function-like macro.
pub(super) struct Call<'a> {
    pub params: &'a Params,
    pub args: Vec<Argument>,
    /// The variable argument is not given, so `, ## __VA_ARGS__` is nothing.
    pub omitted: bool,
    /// Position of the macro's name.
    pub span: Span,
}

impl Argument {
    pub fn new(tokens: Vec<Token>) -> Self {
        Self { tokens, expanded: None }
    }
}

impl Preprocessor<'_> {
    /// The body of a macro without parameters.
    pub(super) fn object_body(&mut self, body: &[Token], span: Span) -> Vec<Token> {
        let params = Params { names: Vec::new(), variadic: false };
        let mut call = Call { params: &params, args: Vec::new(), omitted: false, span };
        self.substitute(body, &mut call, false)
    }

    /// The body with the arguments of a call. `#` is an operator if the macro is `function_like`.
    pub(super) fn substitute(
        &mut self,
        body: &[Token],
        call: &mut Call<'_>,
        function_like: bool,
    ) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::new();
        let (mut boundary, mut space_before) = (false, false);
        for mut token in self.operands(body, call, function_like) {
            if token.kind == Kind::Placemarker {
                boundary = true;
                space_before |= token.space_before;
                continue;
            }
            token.boundary |= std::mem::take(&mut boundary);
            token.space_before |= std::mem::take(&mut space_before);
            out.push(token);
        }
        out
    }

    fn operands(&mut self, body: &[Token], call: &mut Call<'_>, function_like: bool) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::new();
        let mut pasting = false;
        let mut at = 0;
        while at < body.len() {
            let token = &body[at];
            at += 1;
            if token.is("##") && !out.is_empty() {
                pasting = true;
                continue;
            }
            let position = call.params.position(token);
            let mut replaced = position.is_some();
            let mut operand = if function_like
                && token.is("#")
                && let Some(param) = body.get(at).and_then(|next| call.params.position(next))
            {
                at += 1;
                vec![self.stringify(&call.args[param].tokens, token, call.span)]
            } else if function_like
                && token.is("#")
                && let Some(content) = optional(body, at, call.params)
            {
                at += content.len() + 3;
                let tokens = self.optional_content(content, call);
                vec![self.stringify(&tokens, token, call.span)]
            } else if let Some(content) = optional(body, at - 1, call.params) {
                at += content.len() + 2;
                replaced = true;
                self.optional_content(content, call)
            } else if let Some(param) = position {
                let raw = pasting || body.get(at).is_some_and(|next| next.is("##"));
                match raw {
                    true => call.args[param].tokens.clone(),
                    false => self.expanded(&mut call.args[param]),
                }
            } else {
                let mut copy = token.clone();
                copy.span = call.span;
                copy.in_place = false;
                copy.starts_line = false;
                copy.after_lines = false;
                copy.boundary = false;
                vec![copy]
            };
            match operand.first_mut() {
                Some(first) => {
                    first.space_before = token.space_before;
                    first.boundary = replaced;
                }
                None => {
                    let mut nothing = Token::new(Kind::Placemarker, "", call.span);
                    nothing.space_before = token.space_before;
                    operand.push(nothing);
                }
            }
            if pasting {
                pasting = false;
                let variable = call.params.variadic
                    && position.is_some_and(|param| param + 1 == call.params.names.len());
                if variable && out.last().is_some_and(|left| left.is(",")) {
                    // GNU's rule: the comma goes with an omitted argument, and stays otherwise.
                    if call.omitted {
                        out.pop();
                    }
                    operand[0].space_before = false;
                    out.extend(operand);
                    continue;
                }
                let right = operand.remove(0);
                if let Some(left) = out.pop() {
                    out.extend(self.paste(left, right));
                }
            }
            out.extend(operand);
            if let Some(next) = body.get(at)
                && replaced
                && !next.is("##")
            {
                // The end of an argument: `substitute` marks the next token.
                out.push(Token::new(Kind::Placemarker, "", next.span));
            }
        }
        out
    }

    fn expanded(&mut self, argument: &mut Argument) -> Vec<Token> {
        if argument.expanded.is_none() {
            argument.expanded = Some(self.expand_list(&argument.tokens));
        }
        argument.expanded.clone().unwrap_or_default()
    }

    /// The tokens of `__VA_OPT__(content)`: nothing, if the variable argument expands to nothing.
    fn optional_content(&mut self, content: &[Token], call: &mut Call<'_>) -> Vec<Token> {
        let given = call.args.last_mut().is_some_and(|last| !self.expanded(last).is_empty());
        if given { self.operands(content, call, true) } else { Vec::new() }
    }

    /// `#`: a string with the source text of the argument.
    fn stringify(&mut self, tokens: &[Token], operator: &Token, span: Span) -> Token {
        let mut text = String::from("\"");
        for (i, token) in tokens.iter().filter(|t| t.kind != Kind::Placemarker).enumerate() {
            if i > 0 && (token.space_before || token.starts_line) {
                text.push(' ');
            }
            let quoted = matches!(token.kind, Kind::Str | Kind::Char);
            for c in token.text.chars() {
                if quoted && matches!(c, '"' | '\\') {
                    text.push('\\');
                }
                text.push(c);
            }
        }
        text.push('"');
        self.charge(text.len(), span);
        Token { space_before: operator.space_before, ..Token::new(Kind::Str, text, span) }
    }

    /// `##`: one token with the text of both, or both if that is not a token.
    fn paste(&mut self, left: Token, right: Token) -> Vec<Token> {
        if left.kind == Kind::Placemarker {
            return vec![Token { space_before: left.space_before, ..right }];
        }
        if right.kind == Kind::Placemarker {
            return vec![left];
        }
        let text = format!("{}{}", left.text, right.text);
        self.charge(text.len(), left.span);
        match single(&text) {
            Some(kind) => {
                let painted = false;
                vec![Token { kind, text: text.into(), in_place: false, painted, ..left }]
            }
            None => vec![left, Token { space_before: false, boundary: false, ..right }],
        }
    }
}

/// The tokens between the parentheses of a `__VA_OPT__(...)` at index `at`.
fn optional<'a>(body: &'a [Token], at: usize, params: &Params) -> Option<&'a [Token]> {
    if !params.variadic || !body.get(at)?.is_name("__VA_OPT__") || !body.get(at + 1)?.is("(") {
        return None;
    }
    let mut open = 0;
    for (length, token) in body[at + 1..].iter().enumerate() {
        open += i32::from(token.is("(")) - i32::from(token.is(")"));
        if open == 0 {
            return Some(&body[at + 2..at + 1 + length]);
        }
    }
    None
}
