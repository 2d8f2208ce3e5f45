//! P4_16 front end for v1model: compiles source text to a [`netkv_ir::Program`].
//!
//! ```text
//! source text
//!    │  preprocessor    includes, conditionals, macros (token: the lexer)
//! tokens
//!    │  parser          recursive descent
//! syntax tree (ast)
//!    │  typecheck       names, types, constant folding
//! HIR (hir, types)
//!    │  lowering        inlining, state layout, control-flow graphs, dead-store elimination
//! netkv_ir::Program     p4info_ids: ids and aliases of its control-plane objects
//! ```
//!
//! If a stage reports errors, the lowering does not run. Some modules serve several stages:
//!
//! - `sources`: options, and the files that a program includes;
//! - `diagnostics`: errors and warnings;
//! - `annotations`: annotations of declarations;
//! - `constant_folding`: arithmetic on constants;
//! - `side_effects`: analyses of expressions and actions;
//! - `dead_parameter_stores` (with `storage_locations`) and `argument_temporaries`: properties of
//!   p4c's compilation that decide which results survive an `exit`.

#![forbid(unsafe_code)]

mod annotations;
mod argument_temporaries;
mod ast;
mod constant_folding;
mod dead_parameter_stores;
mod diagnostics;
mod hir;
mod lowering;
mod p4info_details;
mod p4info_ids;
mod parser;
mod preprocessor;
mod side_effects;
mod sources;
mod storage_locations;
mod token;
mod typecheck;
mod types;

use std::path::Path;

use diagnostics::Reporter;
pub use diagnostics::{Diagnostic, Diagnostics, Severity};
pub use p4info_details::{FieldDetails, P4InfoDetails};
pub use sources::Options;
use sources::{Includes, read_source};

/// Result of a successful compilation.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The program.
    pub program: netkv_ir::Program,
    /// What its P4Info says beyond the objects in the program.
    pub p4info: P4InfoDetails,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// Hash of the preprocessed tokens. Comments and white space do not change it.
    pub source_hash: String,
}

/// Stack size for the recursive stages, in bytes. The parser bounds the depth of recursion.
const STACK_BYTES: usize = 256 << 20;

/// Compiles a file. Its `#include` can name any file.
pub fn compile_file(path: &Path, options: &Options) -> Result<Compiled, Diagnostics> {
    let name = path.to_string_lossy();
    match read_source(path) {
        Ok(source) => compile_in_thread(&name, &source, options, Includes::Any),
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

/// Compiles a text, which may come from anywhere: its `#include` can only name files below the
/// include directories and below the directory of `name`, its path in messages.
pub fn compile_source(
    name: &str,
    source: &str,
    options: &Options,
) -> Result<Compiled, Diagnostics> {
    compile_in_thread(name, source, options, Includes::BelowDirectories)
}

fn compile_in_thread(
    name: &str,
    source: &str,
    options: &Options,
    includes: Includes,
) -> Result<Compiled, Diagnostics> {
    std::thread::scope(|scope| {
        let work = || compile(name, source, options, includes);
        match std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work) {
            Ok(handle) => match handle.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Err(_) => compile(name, source, options, includes),
        }
    })
}

fn compile(
    name: &str,
    source: &str,
    options: &Options,
    includes: Includes,
) -> Result<Compiled, Diagnostics> {
    let mut reporter = Reporter::default();
    let tokens = preprocessor::preprocess(name, source, options, includes, &mut reporter);
    let source_hash = hash_tokens(&tokens);
    let decls = parser::parse(tokens, &mut reporter);
    let hir = typecheck::check(&decls, &mut reporter);
    let program = match hir {
        Some(hir) if reporter.errors() == 0 => lowering::lower(name, &hir, &mut reporter),
        _ => None,
    };
    match program {
        Some((program, p4info)) if reporter.errors() == 0 => {
            Ok(Compiled { program, p4info, warnings: reporter.into_diagnostics(), source_hash })
        }
        _ => Err(Diagnostics(reporter.into_diagnostics())),
    }
}

/// 128-bit FNV-1a over the text of the tokens.
fn hash_tokens(tokens: &[token::Token]) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for token in tokens {
        for byte in token.text().bytes().chain([b' ']) {
            hash =
                (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    format!("{hash:032x}")
}
