//! Programs for tests.

use netkv_ir::Program;
use netkv_p4::{Options, compile_source};

/// The program of a source, which must have no errors.
pub(crate) fn program_of(source: &str) -> Program {
    let compiled = compile_source("test.p4", source, &Options::default());
    compiled.unwrap_or_else(|errors| panic!("{errors}")).program
}
