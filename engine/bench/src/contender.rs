//! What takes part in a measurement: a switch with one of its executors, or the hand-written
//! pipeline.

use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{Output, Switch, SwitchOptions};
use netkv_ir::Program;

use crate::case::{Case, Executor};
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::Pipeline;
use crate::programs::Subject;

/// A filled switch or pipeline.
pub struct Contender {
    executor: Executor,
    body: Body,
}

enum Body {
    Switch(Box<Switch>),
    Handwritten(Box<dyn Pipeline>),
}

impl Contender {
    /// Loads and fills what `executor` names; none where nobody has written a pipeline by hand.
    ///
    /// # Errors
    ///
    /// A program that cannot run, or that has not the tables that the case fills.
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
                return Ok(
                    pipeline.map(|pipeline| Self { executor, body: Body::Handwritten(pipeline) })
                );
            }
        };
        let options = SwitchOptions { seed: 1, pipelines: case.pipelines };
        let mut switch = netkv_compiled::switch(Arc::clone(program), options, kind)?;
        subject.fill(case, &mut Control::new(&mut switch))?;
        Ok(Some(Self { executor, body: Body::Switch(Box::new(switch)) }))
    }

    /// Which one it is.
    pub fn executor(&self) -> Executor {
        self.executor
    }

    /// Processes frames that came in on one port together; what leaves is appended to `out`.
    #[inline]
    pub fn process(&mut self, now_ns: u64, port: u16, frames: &[&[u8]], out: &mut Output) {
        match &mut self.body {
            Body::Switch(switch) => {
                switch.process_batch(now_ns, port, frames.iter().copied(), out);
            }
            Body::Handwritten(pipeline) => pipeline.process_batch(frames, out),
        }
    }

    /// The counter of each cached key, where the subject has them (see [`Subject::counts`]).
    ///
    /// # Errors
    ///
    /// A program that has not the registers of its name.
    pub fn counts(&mut self, case: &Case, subject: &dyn Subject) -> Result<Vec<u64>, BenchError> {
        match &mut self.body {
            Body::Switch(switch) => subject.counts(case, &mut Control::new(switch)),
            Body::Handwritten(pipeline) => Ok(pipeline.counts(case.entries)),
        }
    }

    /// The switch itself, if it is one.
    pub fn into_switch(self) -> Option<Switch> {
        match self.body {
            Body::Switch(switch) => Some(*switch),
            Body::Handwritten(_) => None,
        }
    }

    /// The switch, if it is one.
    pub fn switch(&mut self) -> Option<&mut Switch> {
        match &mut self.body {
            Body::Switch(switch) => Some(switch),
            Body::Handwritten(_) => None,
        }
    }
}
