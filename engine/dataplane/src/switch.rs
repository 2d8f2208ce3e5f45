//! The switch: a program, its pipelines, and the queues between ingress and egress.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netkv_ir::{Program, StandardMetadata};

use crate::crossing::Crossing;
use crate::digest::{DigestMessage, DigestQueue};
use crate::error::ProgramError;
use crate::executor::Executor;
use crate::frame::{Batch, Frame};
use crate::interpreter::Interpreter;
use crate::objects::Objects;
use crate::output::Output;
use crate::packet::Packet;
use crate::pipeline_instance::{PipelineInstance, Pipelines, pipeline_of};
use crate::replication::Replication;
use crate::statistics::Statistics;
use crate::trace::Trace;
use crate::trace_recorder::Recorder;
use crate::validation::validate;

/// Maximum number of frames that are processed together.
pub const BATCH: usize = 64;

/// Options for the creation of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchOptions {
    /// Seed of all random numbers in the data plane.
    pub seed: u64,
    /// Number of pipelines, each with its own tables and registers (see [`crate::PIPELINES`]).
    pub pipelines: usize,
}

impl Default for SwitchOptions {
    fn default() -> Self {
        Self { seed: 0, pipelines: 1 }
    }
}

/// A v1model switch. It owns its pipelines with their tables and registers, and the multicast
/// groups, clone sessions and digests that the pipelines share. It is single-threaded;
/// [`crate::SharedSwitch`] gives each pipeline to a thread of its own.
pub struct Switch {
    /// Differs from those of all other switches of the process.
    pub(crate) id: u64,
    pub(crate) program: Arc<Program>,
    pub(crate) standard: StandardMetadata,
    pub(crate) interpreter: Arc<Interpreter>,
    pub(crate) pipelines: Pipelines,
    /// Pipeline that control-plane requests concern; `None`: all.
    pub(crate) selected_pipeline: Option<usize>,
    pub(crate) replication: Arc<Replication>,
    pub(crate) digests: DigestQueue,
    pub(crate) statistics: Statistics,
    /// Time of the last frame in nanoseconds. The idle time of a new entry starts then.
    pub(crate) now_ns: u64,
    /// First word and number of words of all header state, which an egress clone copies.
    pub(crate) header_words: Vec<(u32, u32)>,
    pub(crate) to_ingress: VecDeque<Box<Packet>>,
    pub(crate) to_egress: VecDeque<Box<Packet>>,
    /// Packets for reuse, so that processing does not allocate. Boxes are cheap to move between the
    /// queues.
    #[allow(clippy::vec_box)]
    pub(crate) pool: Vec<Box<Packet>>,
    pub(crate) spare_replicas: Vec<(u16, u16)>,
    /// Packets to and from pipelines that are not here; `None`: all are.
    pub(crate) crossing: Option<Crossing>,
    /// Set by [`Switch::stop_at_assertions`].
    pub(crate) stops_at_assertions: bool,
}

/// An assertion of the program that was false.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FailedAssertion {
    /// Source: `FILE:LINE:COLUMN`.
    pub place: String,
    /// How often it was false.
    pub times: u64,
}

impl Switch {
    /// Loads a program.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] if
    ///
    /// - the program is invalid, for example because a place is outside of the state area;
    /// - its registers are too large;
    /// - the number of pipelines is not possible.
    pub fn new(program: Arc<Program>, options: SwitchOptions) -> Result<Self, ProgramError> {
        validate(&program)?;
        static SWITCHES: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            id: SWITCHES.fetch_add(1, Ordering::Relaxed),
            standard: program.standard_metadata.clone(),
            interpreter: Arc::new(Interpreter::new(&program)),
            pipelines: Pipelines::create(&program, options.pipelines, options.seed)?,
            selected_pipeline: None,
            replication: Arc::default(),
            digests: DigestQueue::default(),
            statistics: Statistics::default(),
            now_ns: 0,
            header_words: program.header_words().collect(),
            to_ingress: VecDeque::new(),
            to_egress: VecDeque::new(),
            pool: Vec::new(),
            spare_replicas: Vec::new(),
            crossing: None,
            stops_at_assertions: false,
            program,
        })
    }

    /// The loaded program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Number of pipelines.
    pub fn pipelines(&self) -> usize {
        self.pipelines.count()
    }

    /// The stateful objects of a pipeline: tables, registers and others.
    pub fn objects(&self, pipeline: usize) -> &Objects {
        &self.pipelines[pipeline].objects
    }

    /// Sets the executor of each pipeline, which keeps its tables and registers. The interpreter
    /// still runs traced packets.
    pub fn set_executors(&mut self, mut make: impl FnMut() -> Box<dyn Executor>) {
        for pipe in self.pipelines.iter_mut() {
            pipe.executor = Some(make());
        }
    }

    /// Processes one frame that `port` received at `now_ns`, in nanoseconds on the caller's clock.
    /// Programs read the time in microseconds. Appends the transmitted frames to `out`.
    pub fn process(&mut self, now_ns: u64, port: u16, frame: &[u8], out: &mut Output) {
        self.forward(&Batch { frames: &[frame], port, now_ns }, out);
    }

    /// Processes frames that one port received together, in order.
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
            self.forward(&Batch { frames: &batch[..count], port, now_ns }, out);
        }
    }

    /// Announces frames that are processed soon, after those of the previous call, so that what
    /// they access is loaded into the processor's caches. It changes no result.
    pub fn prefetch(&mut self, frames: &[Frame<'_>]) {
        let count = self.pipelines.count();
        for part in frames.chunk_by(|a, b| pipeline_of(a.port, count) == pipeline_of(b.port, count))
        {
            let pipeline = &mut self.pipelines[pipeline_of(part[0].port, count)];
            if let PipelineInstance { objects, executor: Some(executor) } = pipeline {
                executor.prefetch(part, objects);
            }
        }
    }

    /// Processes one frame as [`Switch::process`] does, and returns a trace of every step.
    pub fn trace(&mut self, now_ns: u64, port: u16, frame: &[u8], out: &mut Output) -> Trace {
        let mut recorder = Recorder::new(&self.program);
        self.process_graph_by_graph(
            Frame { bytes: frame, port, now_ns },
            out,
            &mut Some(&mut recorder),
        );
        recorder.finish()
    }

    /// True if digests are queued for the control plane.
    pub fn has_digests(&self) -> bool {
        !self.digests.is_empty()
    }

    /// Removes all queued digests, and returns them, oldest first.
    pub fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.digests.take()
    }

    /// From now on, a packet for which an assertion is false is the last one: what it and all later
    /// frames would send is dropped. bmv2's process ends there.
    pub fn stop_at_assertions(&mut self) {
        self.stops_at_assertions = true;
    }

    /// The assertions that were false since the creation of the switch, in program order.
    pub fn failed_assertions(&self) -> Vec<FailedAssertion> {
        let places = self.program.assertions.iter().enumerate();
        places
            .filter_map(|(index, span)| {
                let counts =
                    self.pipelines.iter().map(|pipe| pipe.objects.failed_assertions[index]);
                let times: u64 = counts.sum();
                let file = self.program.files.get(span.file as usize)?;
                let place = format!("{file}:{}:{}", span.line, span.column);
                (times > 0).then_some(FailedAssertion { place, times })
            })
            .collect()
    }

    /// Counters since the creation of the switch.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
