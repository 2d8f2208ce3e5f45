//! The pipelines of a switch.
//!
//! As on a Tofino, each pipeline has its own ports, and its own instances of all stateful objects
//! of the program. The pipelines share multicast groups, clone sessions and the digest queue.

use std::ops::{Index, IndexMut, Range};

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

/// A pipeline with its objects. It is aligned to two cache lines, which processors load together,
/// because each pipeline may be used by a thread of its own.
#[repr(align(128))]
pub(crate) struct PipelineInstance {
    pub(crate) objects: Objects,
    /// Runs all packets that are not traced. `None`: the interpreter runs them.
    pub(crate) executor: Option<Box<dyn Executor>>,
}

/// The pipelines of a switch: all of them, or one that was taken out. Numbers are those in the
/// whole switch.
pub(crate) struct Pipelines {
    /// Number of pipelines of the whole switch.
    count: usize,
    /// Number of the first pipeline here.
    first: usize,
    /// Boxed, so that the objects stay at their address, which executors keep.
    #[allow(clippy::vec_box)]
    here: Vec<Box<PipelineInstance>>,
}

impl Pipelines {
    /// Creates `count` pipelines for a validated program.
    pub(crate) fn create(program: &Program, count: usize, seed: u64) -> Result<Self, ProgramError> {
        if !PIPELINES.contains(&count) {
            let text = format!("A switch has 1, 2 or 4 pipelines, not {count}.");
            return Err(ProgramError::new(text));
        }
        // The first pipeline has the random numbers of a switch with one pipeline.
        let mut seeds = Random::new(seed);
        let here = (0..count)
            .map(|pipeline| {
                let seed = if pipeline == 0 { seed } else { seeds.next() };
                let objects = Objects::new(program, seed)?;
                Ok(Box::new(PipelineInstance { objects, executor: None }))
            })
            .collect::<Result<_, ProgramError>>()?;
        Ok(Self { count, first: 0, here })
    }

    /// Number of pipelines of the whole switch.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The numbers of the pipelines here.
    pub(crate) fn range(&self) -> Range<usize> {
        self.first..self.first + self.here.len()
    }

    /// The pipeline of a port.
    #[inline]
    pub(crate) fn of(&self, port: u16) -> usize {
        pipeline_of(port, self.count)
    }

    /// True if the pipeline is here.
    #[inline]
    pub(crate) fn has(&self, pipeline: usize) -> bool {
        pipeline.wrapping_sub(self.first) < self.here.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PipelineInstance> {
        self.here.iter().map(|pipe| &**pipe)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut PipelineInstance> {
        self.here.iter_mut().map(|pipe| &mut **pipe)
    }

    /// An empty list for a pipeline that [`Pipelines::move_last`] takes out.
    pub(crate) fn none(&self) -> Self {
        Self { count: self.count, first: 0, here: Vec::new() }
    }

    /// Takes out the last pipeline here, and puts it into an empty list.
    pub(crate) fn move_last(&mut self, to: &mut Self) {
        debug_assert_eq!((self.count, 0), (to.count, to.here.len()));
        to.here.extend(self.here.pop());
        to.first = self.here.len();
    }

    /// Puts back the pipeline that follows those here.
    pub(crate) fn put_back(&mut self, next: &mut Self) {
        debug_assert_eq!((self.count, self.range().end), (next.count, next.first));
        self.here.append(&mut next.here);
    }
}

impl Index<usize> for Pipelines {
    type Output = PipelineInstance;

    #[inline]
    fn index(&self, pipeline: usize) -> &PipelineInstance {
        &self.here[pipeline - self.first]
    }
}

impl IndexMut<usize> for Pipelines {
    #[inline]
    fn index_mut(&mut self, pipeline: usize) -> &mut PipelineInstance {
        &mut self.here[pipeline - self.first]
    }
}
