//! Definitions of macros.

use std::rc::Rc;

use super::lexer::Token;

#[derive(Debug, Clone)]
pub(super) struct Macro {
    /// `None` for an object-like macro.
    pub params: Option<Params>,
    pub body: Rc<[Token]>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Params {
    /// With `__VA_ARGS__`, or the name before `...`, as the last one of a variadic macro.
    pub names: Vec<Rc<str>>,
    pub variadic: bool,
}

impl Params {
    pub fn position(&self, token: &Token) -> Option<usize> {
        let name = token.identifier()?;
        self.names.iter().position(|param| param == name)
    }
}
