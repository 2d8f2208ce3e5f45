//! The programs of the benchmark: how to fill their tables, and the frames of their paths.
//!
//! A new program needs a module here with its [`Subject`], and a line in `SUBJECTS`.

mod all_kinds;
mod all_kinds_write_back;
mod cache_read;
mod distcache;
mod distcache_client;
mod distreach;
mod farreach;
mod forwarding;
mod netcache;
mod netcache_by_hand;
mod netmc;
mod path;
mod rack;
mod subject;
mod write_back;
mod write_through;

use std::sync::Arc;

use netkv_ir::Program;
use netkv_p4::Options;

use crate::case::Case;
use crate::error::BenchError;

pub use subject::Subject;

static SUBJECTS: [&dyn Subject; 10] = [
    &cache_read::CacheRead,
    &distcache_client::DistCacheClient,
    &distcache::LEAF,
    &distcache::SPINE,
    &distreach::TAIL,
    &distreach::UPPER,
    &farreach::FARREACH,
    &forwarding::Forwarding,
    &netcache::NETCACHE,
    &netmc::NetMc,
];

/// All programs of the benchmark.
pub fn subjects() -> &'static [&'static dyn Subject] {
    &SUBJECTS
}

/// The program with this name.
///
/// # Errors
///
/// A sentence with the known names.
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

/// Compiles the program of a case: its file, or the generated source.
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
