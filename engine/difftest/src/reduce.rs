//! Test-case reduction: removes steps, frames and parts of the program while the case still fails.
//!
//! The method is delta debugging (Zeller and Hildebrandt, "Simplifying and isolating
//! failure-inducing input", 2002): it removes chunks of decreasing size.

use std::sync::Arc;
use std::time::{Duration, Instant};

use netkv_p4::Options;

use crate::case::{Case, Step};
use crate::compare::{Executors, Failure, run};
use crate::source_edits;

/// A reduced failing case.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// The case.
    pub case: Case,
    /// Its failure.
    pub failure: Failure,
    /// The source of its program, if it was given.
    pub source: Option<String>,
}

/// The smallest failing case so far, and the limits of the reduction.
struct Reducer<'a> {
    executors: &'a Executors,
    best: Reduced,
    deadline: Instant,
}

/// Reduces a failing case, for at most `time`. `source` is the program's text, if the program may
/// be reduced, too.
pub fn reduce(
    case: Case,
    failure: Failure,
    source: Option<String>,
    executors: &Executors,
    time: Duration,
) -> Reduced {
    let deadline = Instant::now() + time;
    let mut reducer = Reducer { executors, best: Reduced { case, failure, source }, deadline };
    if matches!(reducer.best.failure, Failure::Load { .. }) {
        reducer.best.case.steps.clear();
        reducer.reduce_program();
        return reducer.best;
    }
    reducer.drop_steps_after_failure();
    reducer.reduce_pipelines();
    reducer.split_batches();
    reducer.remove_steps();
    reducer.reduce_frames();
    if reducer.best.source.is_some() {
        reducer.reduce_program();
        reducer.remove_steps();
        reducer.reduce_frames();
    }
    reducer.best
}

impl Reducer<'_> {
    fn is_out_of_time(&self) -> bool {
        Instant::now() > self.deadline
    }

    /// Accepts `case` if it has the same kind of failure. Returns whether it does.
    fn try_case(&mut self, case: Case, source: Option<String>) -> bool {
        if self.is_out_of_time() {
            return false;
        }
        let Err(failure) = run(&case, self.executors) else { return false };
        if std::mem::discriminant(&failure) != std::mem::discriminant(&self.best.failure) {
            return false;
        }
        self.best = Reduced { case, failure, source };
        true
    }

    fn try_steps(&mut self, steps: Vec<Step>) -> bool {
        let case = Case { steps, ..self.best.case.clone() };
        self.try_case(case, self.best.source.clone())
    }

    /// Reduces the number of pipelines.
    fn reduce_pipelines(&mut self) {
        for pipelines in [1, 2] {
            if pipelines < self.best.case.pipelines {
                let case = Case { pipelines, ..self.best.case.clone() };
                if self.try_case(case, self.best.source.clone()) {
                    return;
                }
            }
        }
    }

    /// Removes the steps after the difference.
    fn drop_steps_after_failure(&mut self) {
        if let Failure::Differs(difference) = &self.best.failure {
            let mut steps = self.best.case.steps.clone();
            steps.truncate(difference.step + 1);
            self.try_steps(steps);
        }
    }

    /// Splits batches into single frames.
    fn split_batches(&mut self) {
        let mut steps = Vec::new();
        for step in &self.best.case.steps {
            match step {
                Step::Frames { now_ns, port, frames, .. } => {
                    steps.extend(frames.iter().map(|frame| Step::Frames {
                        now_ns: *now_ns,
                        port: *port,
                        frames: vec![frame.clone()],
                        batched: false,
                    }));
                }
                Step::Control(_) => steps.push(step.clone()),
            }
        }
        if self.try_steps(steps) {
            self.drop_steps_after_failure();
        }
    }

    /// Removes steps, in chunks of decreasing size.
    fn remove_steps(&mut self) {
        let mut chunk = self.best.case.steps.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < self.best.case.steps.len() {
                let mut steps = self.best.case.steps.clone();
                steps.drain(at..(at + chunk).min(steps.len()));
                if !self.try_steps(steps) {
                    at += chunk;
                }
                if self.is_out_of_time() {
                    return;
                }
            }
            chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
        }
    }

    /// Shortens frames and sets their bytes to 0.
    fn reduce_frames(&mut self) {
        for at in 0..self.best.case.steps.len() {
            let count = match &self.best.case.steps[at] {
                Step::Frames { frames, .. } => frames.len(),
                Step::Control(_) => continue,
            };
            for index in 0..count {
                self.shorten(at, index);
                self.clear_bytes(at, index);
            }
            self.edit(at, |step| {
                if let Step::Frames { now_ns, .. } = step {
                    *now_ns = 0;
                }
            });
            self.edit(at, |step| {
                if let Step::Frames { port, .. } = step {
                    *port = 0;
                }
            });
        }
    }

    fn edit(&mut self, at: usize, edit: impl FnOnce(&mut Step)) -> bool {
        let mut steps = self.best.case.steps.clone();
        let Some(step) = steps.get_mut(at) else { return false };
        edit(step);
        self.try_steps(steps)
    }

    fn frame(&self, at: usize, index: usize) -> Vec<u8> {
        match self.best.case.steps.get(at) {
            Some(Step::Frames { frames, .. }) => frames[index].clone(),
            _ => Vec::new(),
        }
    }

    fn set_frame(&mut self, at: usize, index: usize, frame: Vec<u8>) -> bool {
        self.edit(at, |step| {
            if let Step::Frames { frames, .. } = step {
                frames[index] = frame;
            }
        })
    }

    fn shorten(&mut self, at: usize, index: usize) {
        let mut chunk = self.frame(at, index).len();
        while chunk > 0 {
            let mut frame = self.frame(at, index);
            if frame.len() < chunk {
                chunk /= 2;
                continue;
            }
            frame.truncate(frame.len() - chunk);
            if !self.set_frame(at, index, frame) {
                chunk /= 2;
            }
        }
    }

    fn clear_bytes(&mut self, at: usize, index: usize) {
        let mut chunk = self.frame(at, index).len().div_ceil(2);
        while chunk > 0 {
            let mut start = 0;
            while start < self.frame(at, index).len() {
                let mut frame = self.frame(at, index);
                let end = (start + chunk).min(frame.len());
                if frame[start..end].iter().any(|byte| *byte != 0) {
                    frame[start..end].fill(0);
                    self.set_frame(at, index, frame);
                }
                start += chunk;
            }
            chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
        }
    }

    /// Removes parts of the program's text.
    fn reduce_program(&mut self) {
        let mut changed = true;
        while changed && !self.is_out_of_time() {
            changed = false;
            let mut skip = 0;
            while let Some(text) = self.best.source.clone() {
                let edits = source_edits::edits(&text);
                let Some(edit) = edits.get(skip) else { break };
                if self.try_source(edit.apply(&text)) {
                    changed = true;
                } else {
                    skip += 1;
                }
                if self.is_out_of_time() {
                    return;
                }
            }
        }
    }

    fn try_source(&mut self, text: String) -> bool {
        let Ok(compiled) = netkv_p4::compile_source("reduced.p4", &text, &Options::default())
        else {
            return false;
        };
        let case = Case { program: Arc::new(compiled.program), ..self.best.case.clone() };
        self.try_case(case, Some(text))
    }
}
