//! Recursive-descent parser: turns tokens into the syntax tree.
//!
//! After an error, it continues after the next `;` or `}`. Each module parses one kind of syntax.

mod annotations;
mod decl;
mod expr;
mod state;
mod stmt;
mod table;
mod types;

use crate::ast::Decl;
use crate::diagnostics::Reporter;
use crate::token::Token;
use state::{ParseFailed, Parser};

/// Parses a preprocessed program.
pub(crate) fn parse(tokens: Vec<Token>, reporter: &mut Reporter) -> Vec<Decl> {
    let mut parser = Parser { tokens, at: 0, reporter, suppress_errors: 0, depth: 0 };
    let mut decls = Vec::new();
    while !parser.at_end() {
        if parser.eat(";") {
            continue;
        }
        let from = parser.at;
        match parser.parse_top_level() {
            Ok(decl) => decls.push(decl),
            Err(ParseFailed) => {
                parser.depth = 0;
                parser.recover_top_level(from);
            }
        }
    }
    decls
}
