//! Macros of the preprocessor itself.

use std::rc::Rc;

use super::lexer::{Kind, Token};
use super::state::Preprocessor;

/// Macros with a body, as p4c's back end for bmv2 and its preprocessor define them.
pub(super) const PREDEFINED: &[&str] =
    &["__TARGET_BMV2__", "__STDC__", "__STDC_HOSTED__", "__ASSEMBLER__"];

/// Names that count as defined, whose value depends on the place.
const DYNAMIC: &[&str] = &[
    "__LINE__",
    "__FILE__",
    "__BASE_FILE__",
    "__INCLUDE_LEVEL__",
    "__COUNTER__",
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
    "__has_include",
    "__has_include_next",
    "__has_attribute",
    "__has_cpp_attribute",
    "__has_builtin",
];

pub(super) fn is_dynamic(name: &str) -> bool {
    DYNAMIC.contains(&name)
}

impl Preprocessor<'_> {
    /// The token that a macro of the preprocessor becomes. A result must not depend on the time,
    /// so dates have the text that GCC uses for an unknown one.
    pub(super) fn builtin(&mut self, token: &Token) -> Option<Token> {
        if self.macros.contains_key(&token.text) || self.undefined.contains(&token.text) {
            return None;
        }
        let (kind, text): (Kind, Rc<str>) = match &*token.text {
            "__LINE__" => (Kind::Number, token.span.line.to_string().into()),
            "__COUNTER__" => {
                self.counter += 1;
                (Kind::Number, (self.counter - 1).to_string().into())
            }
            "__INCLUDE_LEVEL__" => {
                (Kind::Number, self.inputs.len().saturating_sub(1).to_string().into())
            }
            "__FILE__" => (Kind::Str, quoted(&self.reporter.file_name(token.span))),
            "__BASE_FILE__" => (Kind::Str, quoted(&self.base_file)),
            "__DATE__" => (Kind::Str, "\"??? ?? ????\"".into()),
            "__TIME__" => (Kind::Str, "\"??:??:??\"".into()),
            "__TIMESTAMP__" => (Kind::Str, "\"??? ??? ?? ??:??:?? ????\"".into()),
            _ => return None,
        };
        Some(Token { kind, text, in_place: false, ..token.clone() })
    }
}

fn quoted(text: &str) -> Rc<str> {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")).into()
}
