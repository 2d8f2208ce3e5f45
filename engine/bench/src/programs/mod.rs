//! The programs that the benchmark knows: how to fill their tables, and what to send.
//!
//! A program that is new gets a module here with its [`Subject`], and a line in [`subjects`].

mod cache_read;
mod farreach;
mod netcache;
mod nocache;
mod rack;

use std::sync::Arc;

use netkv_ir::Program;
use netkv_p4::Options;

use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::Pipeline;
use crate::traffic::Traffic;

/// A program of which the benchmark knows the paths.
pub trait Subject: Sync {
    /// The program without its ending, e.g. `netcache`.
    fn name(&self) -> &'static str;

    /// The paths, e.g. `read-hit`.
    fn paths(&self) -> &'static [&'static str];

    /// The source text that the benchmark brings with it for these sizes; none for a program that
    /// is a file.
    ///
    /// # Errors
    ///
    /// Sizes that the program cannot have.
    fn source(&self, _case: &Case) -> Result<Option<String>, BenchError> {
        Ok(None)
    }

    /// Fills the tables and the state as the control plane would.
    ///
    /// # Errors
    ///
    /// A program that has not the tables of its name.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError>;

    /// The frames that take the path.
    ///
    /// # Errors
    ///
    /// No such path.
    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError>;

    /// The same program by hand, filled in the same way; none if nobody has written it for these
    /// sizes.
    fn handwritten(&self, _case: &Case) -> Option<Box<dyn Pipeline>> {
        None
    }

    /// How often each cached key was read, by the program's own counters; empty if it has none.
    ///
    /// # Errors
    ///
    /// A program that has not the registers of its name.
    fn counts(&self, _case: &Case, _control: &mut Control<'_>) -> Result<Vec<u64>, BenchError> {
        Ok(Vec::new())
    }
}

/// All programs that the benchmark knows.
pub fn subjects() -> &'static [&'static dyn Subject] {
    &[&cache_read::CacheRead, &farreach::FarReach, &netcache::NetCache, &nocache::NoCache]
}

/// The program of this name (without ending).
///
/// # Errors
///
/// A sentence with the names that there are.
pub fn subject(name: &str) -> Result<&'static dyn Subject, BenchError> {
    let found = subjects().iter().find(|subject| subject.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = subjects().iter().map(|subject| subject.name()).collect();
        BenchError::new(format!(
            "The benchmark does not know the paths of a program '{name}'; it knows {}.",
            names.join(", ")
        ))
    })
}

/// Compiles the program of a case: its file, or what the benchmark brings.
pub(crate) fn program(case: &Case) -> Result<Arc<Program>, BenchError> {
    let options = Options { include_dirs: case.include_dirs.clone(), defines: Vec::new() };
    let compiled = match &case.file {
        Some(file) => netkv_p4::compile_file(file, &options),
        None => {
            let Some(text) = subject(&case.program)?.source(case)? else {
                return Err(BenchError::new(format!(
                    "The benchmark does not bring '{}' with it: say which file it is.",
                    case.program
                )));
            };
            netkv_p4::compile_source(&format!("{}.p4", case.program), &text, &options)
        }
    };
    match compiled {
        Ok(compiled) => Ok(Arc::new(compiled.program)),
        Err(found) => {
            Err(BenchError::new(format!("'{}' does not compile.\n{found}", case.program)))
        }
    }
}

/// The error for a path that a program has not.
pub(crate) fn no_path(case: &Case, subject: &dyn Subject) -> BenchError {
    BenchError::new(format!(
        "'{}' has no path '{}'; its paths are {}.",
        case.program,
        case.path,
        subject.paths().join(", ")
    ))
}
