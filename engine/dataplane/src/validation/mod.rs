//! Validates a program when it is loaded.
//!
//! Executors rely on it: afterwards, no packet can cause an access outside of the state area, a
//! jump to a missing block, or operands of wrong width.

mod expressions;
mod operations;
mod validator;

use netkv_ir::Program;

use crate::error::ProgramError;
use crate::graph::Graph;
use validator::Validator;

/// Validates everything that executors rely on.
pub(crate) fn validate(program: &Program) -> Result<(), ProgramError> {
    let validator = Validator { program };
    validator
        .validate_objects()
        .map_err(|text| ProgramError::new(format!("{}: {text}.", program.name)))?;
    for graph in Graph::ALL {
        let blocks = &graph.of(program).blocks;
        for (index, block) in blocks.iter().enumerate() {
            validator.validate_block(block, blocks.len()).map_err(|text| {
                let (name, graph) = (&program.name, graph.name());
                ProgramError::new(format!("{name}: {graph}, block {index}: {text}."))
            })?;
        }
    }
    Ok(())
}
