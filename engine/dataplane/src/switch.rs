//! The switch: one program, its pipelines, and the queues between its blocks.

use std::collections::VecDeque;
use std::sync::Arc;

use netkv_ir::{Program, StandardMetadata};

use crate::check;
use crate::digest::{DigestMessage, DigestQueue};
use crate::error::ProgramError;
use crate::executor::{Batch, Executor, Frame};
use crate::interpreter::Interpreter;
use crate::objects::Objects;
use crate::output::Output;
use crate::packet::Packet;
use crate::pipe::Pipe;
use crate::recorder::Recorder;
use crate::replication::Replication;
use crate::statistics::Statistics;
use crate::trace::Trace;

/// Frames that are processed together at most.
pub const BATCH: usize = 64;

/// Choices at the start of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchOptions {
    /// Seed of everything random in the data plane.
    pub seed: u64,
    /// Pipelines, each with tables and registers of its own (see [`crate::PIPELINES`]).
    pub pipelines: usize,
}

impl Default for SwitchOptions {
    fn default() -> Self {
        Self { seed: 0, pipelines: 1 }
    }
}

/// A v1model switch. Single-threaded; owns its pipelines with their tables and registers, and the
/// replication state that they share.
pub struct Switch {
    pub(crate) program: Arc<Program>,
    pub(crate) standard: StandardMetadata,
    pub(crate) interpreter: Interpreter,
    /// At least one, and as many for as long as the switch lives.
    pub(crate) pipes: Vec<Pipe>,
    /// The pipeline that the control plane means at the moment; none for all.
    pub(crate) only: Option<usize>,
    pub(crate) replication: Replication,
    pub(crate) digests: DigestQueue,
    pub(crate) statistics: Statistics,
    /// Time of the last frame, in nanoseconds: when an entry that comes now starts to be idle.
    pub(crate) now_ns: u64,
    /// `(word, words)` of all that belongs to headers; an E2E clone keeps it.
    pub(crate) header_words: Vec<(u32, u32)>,
    pub(crate) to_ingress: VecDeque<Box<Packet>>,
    pub(crate) to_egress: VecDeque<Box<Packet>>,
    /// Packets to use again, so that no packet allocates; boxed, to move between the queues.
    #[allow(clippy::vec_box)]
    pub(crate) pool: Vec<Box<Packet>>,
    pub(crate) spare_replicas: Vec<(u16, u16)>,
}

impl Switch {
    /// Loads a program.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] when the program is not well formed (a place outside of the state area,
    /// a jump to nowhere, widths that do not fit) or asks for more memory than the switch gives, and
    /// when there cannot be as many pipelines.
    pub fn new(program: Arc<Program>, options: SwitchOptions) -> Result<Self, ProgramError> {
        check::program(&program)?;
        let mut header_words = Vec::new();
        for header in &program.headers {
            header_words.push((header.valid, 1));
            header_words.push((header.base, header.words));
        }
        header_words.extend(program.stacks.iter().map(|stack| (stack.next_index, 1)));
        Ok(Self {
            standard: program.standard_metadata.clone(),
            interpreter: Interpreter::new(&program),
            pipes: Pipe::several(&program, options.pipelines, options.seed)?,
            only: None,
            replication: Replication::default(),
            digests: DigestQueue::default(),
            statistics: Statistics::default(),
            now_ns: 0,
            header_words,
            to_ingress: VecDeque::new(),
            to_egress: VecDeque::new(),
            pool: Vec::new(),
            spare_replicas: Vec::new(),
            program,
        })
    }

    /// The program that runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Number of pipelines.
    pub fn pipelines(&self) -> usize {
        self.pipes.len()
    }

    /// What outlives packets in a pipeline: tables, registers and the like.
    pub fn objects(&self, pipeline: usize) -> &Objects {
        &self.pipes[pipeline].objects
    }

    /// Lets an executor in each pipeline run the graphs from now on, over the same tables and
    /// registers. Traced packets still go through the interpreter.
    pub fn set_executors(&mut self, mut make: impl FnMut() -> Box<dyn Executor>) {
        for pipe in &mut self.pipes {
            pipe.executor = Some(make());
        }
    }

    /// Processes one frame that came in on `port` at `now_ns` (nanoseconds of the caller's clock;
    /// the program sees microseconds). Appends what leaves to `out`.
    pub fn process(&mut self, now_ns: u64, port: u16, frame: &[u8], out: &mut Output) {
        self.forward(Batch { frames: &[frame], port, now_ns }, out);
    }

    /// Processes frames that came in on one port together, in order.
    pub fn process_batch<'a>(
        &mut self,
        now_ns: u64,
        port: u16,
        frames: impl IntoIterator<Item = &'a [u8]>,
        out: &mut Output,
    ) {
        let mut frames = frames.into_iter();
        let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
        loop {
            let mut count = 0;
            for (place, frame) in batch.iter_mut().zip(&mut frames) {
                *place = frame;
                count += 1;
            }
            if count == 0 {
                return;
            }
            self.forward(Batch { frames: &batch[..count], port, now_ns }, out);
        }
    }

    /// Processes one frame as [`Switch::process`] does and writes every step down.
    pub fn trace(&mut self, now_ns: u64, port: u16, frame: &[u8], out: &mut Output) -> Trace {
        let mut recorder = Recorder::new(&self.program);
        self.drive(Frame { bytes: frame, port, now_ns }, out, &mut Some(&mut recorder));
        recorder.finish()
    }

    /// Whether digests wait for the control plane.
    pub fn has_digests(&self) -> bool {
        !self.digests.is_empty()
    }

    /// The digests that wait for the control plane, oldest first; the queue is empty afterwards.
    pub fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.digests.take()
    }

    /// Counts since the switch was made.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
