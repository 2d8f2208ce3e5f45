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
mod farreach_by_hand;
mod forwarding;
mod forwarding_by_hand;
mod netcache;
mod netcache_by_hand;
mod netmc;
mod netmc_by_hand;
mod path;
mod rack;
mod write_back;
mod write_through;

use std::sync::Arc;

use netkv_ir::Program;
use netkv_p4::Options;

use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::Pipeline;
use crate::traffic::{Arrivals, Traffic};

/// A program of the benchmark, with its paths.
pub trait Subject: Sync {
    /// Name of the program's file without its extension; `FOLDER-FILE` if its folder has several
    /// programs.
    fn name(&self) -> &'static str;

    /// The paths, e.g. `read-hit`.
    fn paths(&self) -> Vec<&'static str>;

    /// The generated source text for these sizes; none for a program in a file.
    ///
    /// # Errors
    ///
    /// If the program cannot have these sizes.
    fn source(&self, _case: &Case) -> Result<Option<String>, BenchError> {
        Ok(None)
    }

    /// Fills the tables and the state as the control plane would.
    ///
    /// # Errors
    ///
    /// If the program lacks a table.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError>;

    /// The frames that take the path.
    ///
    /// # Errors
    ///
    /// If there is no such path.
    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError>;

    /// The frames that take the path in each pipeline, by a port of the pipeline.
    ///
    /// # Errors
    ///
    /// If there is no such path, or if the benchmark has no frames for several pipelines.
    fn traffic_of_pipelines(&self, case: &Case) -> Result<Vec<Traffic>, BenchError> {
        if case.pipelines == 1 {
            return Ok(vec![self.traffic(case)?]);
        }
        Err(BenchError::new(format!(
            "The benchmark has no frames of '{}' for each of {} pipelines; it has those of the \
             yardstick cache_read.",
            case.program, case.pipelines
        )))
    }

    /// Frames of all kinds for the switch that is filled for [`Case::all_kinds`]; none for a program
    /// without a handwritten pipeline.
    fn all_kinds(&self, _case: &Case) -> Vec<Arrivals> {
        Vec::new()
    }

    /// The filled handwritten pipeline of the program; none if there is none for these sizes.
    fn handwritten(&self, _case: &Case) -> Option<Box<dyn Pipeline>> {
        None
    }

    /// The registers and counters that must be equal after the same frames.
    fn counted(&self) -> &'static [&'static str] {
        &[]
    }
}

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

/// The error for a path that a program does not have.
pub(crate) fn no_path(case: &Case, subject: &dyn Subject) -> BenchError {
    BenchError::new(format!(
        "'{}' has no path '{}'; its paths are {}.",
        case.program,
        case.path,
        subject.paths().join(", ")
    ))
}
