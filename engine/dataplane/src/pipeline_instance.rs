//! The pipelines of a switch.
//!
//! As on a Tofino, each pipeline has its own ports, and its own instances of all stateful objects
//! of the program. The pipelines share multicast groups, clone sessions and the digest queue.

use netkv_ir::Program;

use crate::error::ProgramError;
use crate::executor::Executor;
use crate::objects::Objects;
use crate::random::Random;

/// Possible numbers of pipelines in a switch.
pub const PIPELINES: [usize; 3] = [1, 2, 4];

/// The pipeline of a port, including the CPU port: `port % pipelines`. Its ingress processes the
/// packets that the port receives, and its egress those that the port transmits.
/// `netkv/control/pipelines.py` has the same definition.
#[inline]
pub const fn pipeline_of(port: u16, pipelines: usize) -> usize {
    debug_assert!(pipelines.is_power_of_two());
    // A mask, because a division is expensive here. `PIPELINES` has powers of 2 only.
    port as usize & (pipelines - 1)
}

/// A pipeline with its objects.
pub(crate) struct PipelineInstance {
    pub(crate) objects: Objects,
    /// Runs all packets that are not traced. `None`: the interpreter runs them.
    pub(crate) executor: Option<Box<dyn Executor>>,
}

impl PipelineInstance {
    /// Creates `count` pipelines for a validated program.
    pub(crate) fn create(
        program: &Program,
        count: usize,
        seed: u64,
    ) -> Result<Vec<Self>, ProgramError> {
        if !PIPELINES.contains(&count) {
            let text = format!("A switch has 1, 2 or 4 pipelines, not {count}.");
            return Err(ProgramError::new(text));
        }
        // The first pipeline has the random numbers of a switch with one pipeline.
        let mut seeds = Random::new(seed);
        (0..count)
            .map(|pipeline| {
                let seed = if pipeline == 0 { seed } else { seeds.next() };
                Ok(Self { objects: Objects::new(program, seed)?, executor: None })
            })
            .collect()
    }
}
