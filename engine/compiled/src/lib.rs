//! The compiled executor: a program's graphs as machine code, over the tables and registers of
//! [`netkv_dataplane`]. The interpreter stays the reference; both give the same answers.
//!
//! ```text
//!   plan       which words are values of the code and which stay in memory
//!   code/      from the IR to Cranelift's
//!   machine    machine code and its memory
//!   context    what code and executor hand each other
//!   helpers    what code calls
//!   executor   the executor
//!   foresight  what a packet will touch, fetched before its turn
//! ```

mod code;
mod context;
mod executor;
mod foresight;
mod helpers;
mod machine;
mod plan;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use netkv_dataplane::{ProgramError, Switch, SwitchOptions};
use netkv_ir::Program;

use crate::code::Code;
use crate::executor::Compiled;

/// What runs the graphs of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutorKind {
    /// Machine code, made when the program is loaded.
    #[default]
    Compiled,
    /// The reference, step by step.
    Interpreter,
}

impl FromStr for ExecutorKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "compiled" => Ok(Self::Compiled),
            "interpreter" => Ok(Self::Interpreter),
            _ => Err(format!("There is no executor '{name}'; there are compiled and interpreter.")),
        }
    }
}

/// Why a program could not be compiled.
#[derive(Debug)]
struct CompileError(String);

impl CompileError {
    fn new(text: String) -> Self {
        Self(text)
    }
}

impl<E: std::error::Error> From<E> for CompileError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A program made ready once, for any number of switches that run it in as many pipelines.
#[derive(Clone)]
pub struct Prepared {
    program: Arc<Program>,
    pipelines: usize,
    /// Machine code, unless the interpreter runs it.
    code: Option<Arc<Code>>,
}

impl Prepared {
    /// Makes what switches of so many pipelines that run the program with `kind` need and may share.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] as [`Switch::new`], and if no code can be made for it.
    pub fn new(
        program: Arc<Program>,
        kind: ExecutorKind,
        pipelines: usize,
    ) -> Result<Self, ProgramError> {
        let model = Switch::new(Arc::clone(&program), SwitchOptions { seed: 0, pipelines })?;
        let code = match kind {
            ExecutorKind::Interpreter => None,
            ExecutorKind::Compiled => {
                let code = Code::new(&program, model.objects(0), pipelines).map_err(|why| {
                    ProgramError::new(format!(
                        "{}: no machine code can be made of it ({why}); the interpreter can run it.",
                        program.name
                    ))
                })?;
                Some(Arc::new(code))
            }
        };
        Ok(Self { program, pipelines, code })
    }

    /// A new switch that runs the program; `seed` is that of everything random in it.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] as [`Switch::new`].
    pub fn switch(&self, seed: u64) -> Result<Switch, ProgramError> {
        let options = SwitchOptions { seed, pipelines: self.pipelines };
        let mut switch = Switch::new(Arc::clone(&self.program), options)?;
        if let Some(code) = &self.code {
            switch.set_executors(|| {
                Box::new(Compiled::new(Arc::clone(code), Arc::clone(&self.program)))
            });
        }
        Ok(switch)
    }
}

/// Loads a program into a new switch that runs it with `kind`.
///
/// # Errors
///
/// As [`Prepared::new`].
pub fn switch(
    program: Arc<Program>,
    options: SwitchOptions,
    kind: ExecutorKind,
) -> Result<Switch, ProgramError> {
    Prepared::new(program, kind, options.pipelines)?.switch(options.seed)
}
