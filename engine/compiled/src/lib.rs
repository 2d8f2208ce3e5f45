//! The compiled executor: it compiles a program's graphs to machine code with Cranelift.
//!
//! The code works on the tables and registers of [`netkv_dataplane`]. The interpreter there is the
//! reference; both executors give the same results.
//!
//! ```text
//!   block_order     the order in which blocks of a graph run
//!   position        the position of a parser in the packet at each block
//!   bounds          the largest values that words can have
//!   known           values of words that are known before a packet arrives
//!   liveness        words that are still read at each block of a graph
//!   groups          which paths share a variant of a block
//!   variants        copies of a graph's blocks by what is known on the way to them
//!   paths           the common paths of packets through all graphs
//!   recirculations  passes of a recirculated packet that begin with its fields
//!   words           sets of words, and which ones operations and graphs read and write
//!   checksum_lists  the lists of fields whose checksum code computes itself
//!   shapes          layouts of tables and registers, which code accesses directly
//!   plan            which words of the state area are in registers, and which in memory
//!   code/           translates the IR to that of Cranelift
//!   machine         makes machine code, and owns its memory
//!   context         the argument of compiled functions: data shared with the executor
//!   helpers         functions that compiled code calls
//!   error           the reason why a program has no machine code
//!   executor        calls the code for packets and batches
//!   conditions      conditions without which a packet does not come to a block
//!   lookahead       which frames of a batch are prefetched for, and when
//!   prefetch        the table slots and register cells of a packet, and how they are prefetched
//! ```

mod block_order;
mod bounds;
mod checksum_lists;
mod code;
mod conditions;
mod context;
mod crc;
mod decided;
mod error;
mod executor;
mod groups;
mod helpers;
mod known;
mod liveness;
mod lookahead;
mod machine;
mod paths;
mod plan;
mod position;
mod prefetch;
#[cfg(test)]
mod program_of;
mod recirculations;
mod shapes;
mod variants;
mod words;

use std::str::FromStr;
use std::sync::Arc;

use netkv_dataplane::{ProgramError, Switch, SwitchOptions};
use netkv_ir::Program;

use crate::code::Code;
use crate::executor::Compiled;

/// The kind of executor that runs the graphs of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutorKind {
    /// Machine code, compiled when the program is loaded.
    #[default]
    Compiled,
    /// The reference interpreter.
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

/// A compiled program. Any number of switches with the same number of pipelines can share it.
#[derive(Clone)]
pub struct Prepared {
    program: Arc<Program>,
    pipelines: usize,
    /// Machine code; none for the interpreter.
    code: Option<Arc<Code>>,
}

impl Prepared {
    /// Prepares a program for switches with this number of pipelines and kind of executor.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] as [`Switch::new`], and if the program cannot be compiled.
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

    /// A new switch that runs the program. `seed` is for all of its random numbers.
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

/// A new switch that runs a program with this kind of executor.
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
