//! The preprocessor: what cpp does for p4c (`cpp -undef -x assembler-with-cpp`), then P4 tokens.
//!
//! ```text
//! source text
//!    │  characters      joined lines
//!    │  lexer           comments, preprocessing tokens of C
//!    │  directives      conditions (condition), files (include), macros (define)
//!    │  expand          macro expansion (substitute, builtins)
//!    │  state           reads files (input, contexts), keeps macros and the text so far (output)
//! text with positions
//!    │  token           P4 tokens
//! ```
//!
//! A token has the position where the program has it. A token from the body of a macro has the
//! position where the program uses the macro.

mod builtins;
mod characters;
mod condition;
mod contexts;
mod define;
mod directives;
mod expand;
mod include;
mod input;
mod lexer;
mod macros;
mod output;
mod state;
mod substitute;

use std::collections::{HashMap, HashSet};

use netkv_ir::Span;

use self::lexer::Kind;
use self::macros::Macro;
use self::output::Output;
use self::state::Preprocessor;
use crate::diagnostics::Reporter;
use crate::sources::{Includes, Options};
use crate::token;

/// Preprocesses `text` and the files that it includes.
pub(crate) fn preprocess(
    name: &str,
    text: &str,
    options: &Options,
    includes: Includes,
    reporter: &mut Reporter,
) -> Vec<token::Token> {
    let (out, end) = run(name, text, options, includes, reporter);
    token::lex(&out.text, &out.spans, end)
}

/// The preprocessed text, and the position of the end of the main file.
fn run(
    name: &str,
    text: &str,
    options: &Options,
    includes: Includes,
    reporter: &mut Reporter,
) -> (Output, Span) {
    let mut pp = Preprocessor {
        reporter,
        options,
        includes,
        macros: HashMap::new(),
        saved_macros: HashMap::new(),
        undefined: HashSet::new(),
        once: HashSet::new(),
        base_file: name.to_string(),
        inputs: Vec::new(),
        contexts: Vec::new(),
        disabled: HashMap::new(),
        depth: 0,
        tokens: 0,
        text_bytes: 0,
        stopped: false,
        counter: 0,
        last_span: Span::default(),
        file_end: Span::default(),
        out: Output::default(),
    };
    let given = options.defines.iter().map(|(name, value)| (name.as_str(), value.as_deref()));
    for (name, value) in builtins::PREDEFINED.iter().map(|name| (*name, None)).chain(given) {
        let body = lexer::lex(value.unwrap_or("1")).into();
        pp.macros.insert(name.into(), Macro { params: None, body });
    }
    pp.open(name, None, text);
    loop {
        let token = pp.next_expanded();
        if token.kind == Kind::End {
            break;
        }
        pp.out.add(token);
    }
    (pp.out, pp.file_end)
}

#[cfg(test)]
mod tests;
