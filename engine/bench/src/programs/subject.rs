//! What the benchmark knows of a program.

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

    /// Frames of all kinds for the switch that is filled for [`Case::all_kinds`]; none for a
    /// program that has none.
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

/// The error for a path that a program does not have.
pub(crate) fn no_path(case: &Case, subject: &dyn Subject) -> BenchError {
    BenchError::new(format!(
        "'{}' has no path '{}'; its paths are {}.",
        case.program,
        case.path,
        subject.paths().join(", ")
    ))
}
