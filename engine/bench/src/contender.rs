//! A contender in a measurement: a switch with one executor, or the handwritten pipeline.

use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{Output, Switch, SwitchOptions};
use netkv_ir::{Program, Value};

use crate::case::{Case, Executor};
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::{Counts, Pipeline};
use crate::programs::Subject;

/// A filled switch or pipeline.
pub struct Contender {
    executor: Executor,
    kind: ContenderKind,
}

/// What a contender runs.
enum ContenderKind {
    Switch(Box<Switch>),
    Handwritten(Box<dyn Pipeline>),
}

impl Contender {
    /// Loads and fills a contender; none if there is no handwritten pipeline.
    ///
    /// # Errors
    ///
    /// If the program cannot run, or lacks a table that the case fills.
    pub fn new(
        executor: Executor,
        case: &Case,
        subject: &dyn Subject,
        program: &Arc<Program>,
    ) -> Result<Option<Self>, BenchError> {
        let kind = match executor {
            Executor::Interpreter => ExecutorKind::Interpreter,
            Executor::Compiled => ExecutorKind::Compiled,
            Executor::Handwritten => {
                let pipeline = subject.handwritten(case);
                return Ok(pipeline.map(|pipeline| Self {
                    executor,
                    kind: ContenderKind::Handwritten(pipeline),
                }));
            }
        };
        let options = SwitchOptions { seed: 1, pipelines: case.pipelines };
        let mut switch = netkv_compiled::switch(Arc::clone(program), options, kind)?;
        subject.fill(case, &mut Control::new(&mut switch))?;
        Ok(Some(Self { executor, kind: ContenderKind::Switch(Box::new(switch)) }))
    }

    /// The contenders with these executors, without those that the case does not have.
    ///
    /// # Errors
    ///
    /// As [`Contender::new`].
    pub fn all(
        executors: &[Executor],
        case: &Case,
        subject: &dyn Subject,
        program: &Arc<Program>,
    ) -> Result<Vec<Self>, BenchError> {
        let new = |executor: &Executor| Self::new(*executor, case, subject, program).transpose();
        executors.iter().filter_map(new).collect()
    }

    /// Its executor.
    pub fn executor(&self) -> Executor {
        self.executor
    }

    /// Processes a batch of frames from one port. The sent frames are appended to `out`.
    #[inline]
    pub fn process(&mut self, now_ns: u64, port: u16, frames: &[&[u8]], out: &mut Output) {
        match &mut self.kind {
            ContenderKind::Switch(switch) => {
                switch.process_batch(now_ns, port, frames.iter().copied(), out);
            }
            ContenderKind::Handwritten(pipeline) => pipeline.process_batch(port, frames, out),
        }
    }

    /// The arrays of [`Subject::counted`].
    ///
    /// # Errors
    ///
    /// If the program lacks one.
    pub fn counts(&mut self, subject: &dyn Subject) -> Result<Counts, BenchError> {
        match &mut self.kind {
            ContenderKind::Switch(switch) => {
                let mut control = Control::new(switch);
                let named = |name: &&'static str| Ok((*name, control.cells(name)?));
                subject.counted().iter().map(named).collect()
            }
            ContenderKind::Handwritten(pipeline) => Ok(pipeline.counts()),
        }
    }

    /// Removes and returns the queued digests, each as its members.
    pub fn take_digests(&mut self) -> Vec<Vec<u128>> {
        let number = |value: &Value| {
            value.words.iter().rev().fold(0, |number, word| number << 64 | u128::from(*word))
        };
        match &mut self.kind {
            ContenderKind::Switch(switch) => {
                let digests = switch.take_digests();
                digests.iter().map(|digest| digest.values.iter().map(number).collect()).collect()
            }
            ContenderKind::Handwritten(pipeline) => pipeline.take_digests(),
        }
    }

    /// Converts it into its switch; none for a handwritten pipeline.
    pub fn into_switch(self) -> Option<Switch> {
        match self.kind {
            ContenderKind::Switch(switch) => Some(*switch),
            ContenderKind::Handwritten(_) => None,
        }
    }

    /// Its switch; none for a handwritten pipeline.
    pub fn switch(&mut self) -> Option<&mut Switch> {
        match &mut self.kind {
            ContenderKind::Switch(switch) => Some(switch),
            ContenderKind::Handwritten(_) => None,
        }
    }
}
