//! P4_16 front end for v1model: source text in, a [`netkv_ir::Program`] out.
//!
//! The stages, each in a module of its own, each only knowing the one before: preprocessor
//! (text to tokens), parser (tokens to syntax tree), checker (syntax tree to a typed tree with
//! every name resolved), lowering (typed tree to control-flow graphs, every call inlined).
//! A stage that found errors is the last one to run.

#![forbid(unsafe_code)]

mod alias;
mod ast;
mod check;
mod condition;
mod diag;
mod effects;
mod exits;
mod fold;
mod hir;
mod lower;
mod macros;
mod p4info;
mod parse;
mod parts;
mod preprocess;
mod token;
mod types;

use std::path::{Path, PathBuf};

use diag::Reporter;
pub use diag::{Diagnostic, Diagnostics, Severity};

/// What the command line of a compiler gives.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where `#include` looks, in order. `core.p4` and `v1model.p4` are built in.
    pub include_dirs: Vec<PathBuf>,
    /// Macros: name and value (1 when there is none).
    pub defines: Vec<(String, Option<String>)>,
}

/// A program, ready to run.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The program.
    pub program: netkv_ir::Program,
    /// What is odd about the source without being wrong.
    pub warnings: Vec<Diagnostic>,
    /// Hash of the preprocessed text: equal for equal programs, whatever their comments.
    pub source_hash: String,
}

/// Stack for the recursive stages; their depth is bounded (see `parse`).
const STACK_BYTES: usize = 256 << 20;

/// Compiles a file.
pub fn compile_file(path: &Path, options: &Options) -> Result<Compiled, Diagnostics> {
    let name = path.to_string_lossy();
    match std::fs::read_to_string(path) {
        Ok(source) => compile_source(&name, &source, options),
        Err(error) => Err(Diagnostics(vec![Diagnostic {
            severity: Severity::Error,
            file: name.to_string(),
            line: 0,
            column: 0,
            message: format!("This file cannot be read: {error}."),
            source_line: String::new(),
        }])),
    }
}

/// Compiles a text; `name` stands for it in messages, and `#include "..."` looks beside it.
pub fn compile_source(
    name: &str,
    source: &str,
    options: &Options,
) -> Result<Compiled, Diagnostics> {
    std::thread::scope(|scope| {
        let work = || compile(name, source, options);
        match std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work) {
            Ok(handle) => match handle.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Err(_) => compile(name, source, options),
        }
    })
}

fn compile(name: &str, source: &str, options: &Options) -> Result<Compiled, Diagnostics> {
    let mut reporter = Reporter::default();
    let tokens = preprocess::preprocess(name, source, options, &mut reporter);
    let source_hash = hash(&tokens);
    let decls = parse::parse(tokens, &mut reporter);
    let hir = check::check(&decls, &mut reporter);
    let program = match hir {
        Some(hir) if reporter.errors() == 0 => lower::lower(name, &hir, &mut reporter),
        _ => None,
    };
    match program {
        Some(program) if reporter.errors() == 0 => {
            Ok(Compiled { program, warnings: reporter.into_found(), source_hash })
        }
        _ => Err(Diagnostics(reporter.into_found())),
    }
}

/// 128-bit FNV-1a over the text of the tokens.
fn hash(tokens: &[token::Token]) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for token in tokens {
        for byte in token.text().bytes().chain([b' ']) {
            hash =
                (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    format!("{hash:032x}")
}
