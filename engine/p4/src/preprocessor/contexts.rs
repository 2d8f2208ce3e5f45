//! Tokens that are read before those of the files, and how far the files are read.

use std::rc::Rc;

use super::lexer::Token;

/// Tokens to be read before those below.
pub(super) struct Context {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    /// The macro that they come from.
    pub(super) name: Option<Rc<str>>,
    /// Reading ends here: an argument or a directive.
    pub(super) isolated: bool,
}

/// How the files are read below the contexts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reading {
    Program,
    /// To find out whether a `(` follows: stops before a directive.
    Ahead,
    /// The arguments of a call that started in the file with this index.
    Arguments(usize),
}
