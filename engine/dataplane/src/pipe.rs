//! The pipelines of a switch: each has ports of its own and an instance of its own of everything
//! that the program keeps, as a Tofino's have. What stands between them (multicast groups, clone
//! sessions, digests) is the switch's.

use netkv_ir::Program;

use crate::error::ProgramError;
use crate::executor::Executor;
use crate::objects::Objects;
use crate::random::Random;

/// How many pipelines a switch may have.
pub const PIPELINES: [usize; 3] = [1, 2, 4];

/// The pipeline of a port, the CPU port included: whose ingress takes what comes in there, and
/// whose egress takes what leaves there. It is `port % pipelines` ([`PIPELINES`] has powers of 2
/// only); `netkv/control/pipelines.py` says the same.
#[inline]
pub const fn pipeline_of(port: u16, pipelines: usize) -> usize {
    debug_assert!(pipelines.is_power_of_two());
    // A division would cost a batch more than all else that is new since there are pipelines.
    port as usize & (pipelines - 1)
}

/// One pipeline.
pub(crate) struct Pipe {
    pub(crate) objects: Objects,
    /// Runs instead of the interpreter while nobody watches.
    pub(crate) executor: Option<Box<dyn Executor>>,
}

impl Pipe {
    /// `count` pipelines of a checked program.
    pub(crate) fn several(
        program: &Program,
        count: usize,
        seed: u64,
    ) -> Result<Vec<Self>, ProgramError> {
        if !PIPELINES.contains(&count) {
            let text = format!("A switch has 1, 2 or 4 pipelines, not {count}.");
            return Err(ProgramError::new(text));
        }
        // The first draws what the only pipeline of a switch would, the others their own.
        let mut seeds = Random::new(seed);
        (0..count)
            .map(|pipeline| {
                let seed = if pipeline == 0 { seed } else { seeds.next() };
                Ok(Self { objects: Objects::new(program, seed)?, executor: None })
            })
            .collect()
    }
}
