//! From a case that fails to a small one that still does: steps, frames, and where there is
//! source text, the program itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use netkv_p4::Options;

use crate::case::{Case, Step};
use crate::compare::{Failure, Sides, run};
use crate::source;

/// A failing case, made small.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// What is left of it.
    pub case: Case,
    /// How it fails.
    pub failure: Failure,
    /// Its program, if it was given.
    pub source: Option<String>,
}

struct Reducer<'a> {
    sides: &'a Sides,
    best: Reduced,
    deadline: Instant,
}

/// Makes a failing case small, for at most `time`. `source` is the program's text, if the program
/// may be made smaller too.
pub fn reduce(
    case: Case,
    failure: Failure,
    source: Option<String>,
    sides: &Sides,
    time: Duration,
) -> Reduced {
    let deadline = Instant::now() + time;
    let mut reducer = Reducer { sides, best: Reduced { case, failure, source }, deadline };
    if matches!(reducer.best.failure, Failure::Load { .. }) {
        reducer.best.case.steps.clear();
        reducer.program();
        return reducer.best;
    }
    reducer.cut();
    reducer.pipelines();
    reducer.one_by_one();
    reducer.steps();
    reducer.frames();
    if reducer.best.source.is_some() {
        reducer.program();
        reducer.steps();
        reducer.frames();
    }
    reducer.best
}

impl Reducer<'_> {
    fn time_is_up(&self) -> bool {
        Instant::now() > self.deadline
    }

    /// Takes `case` if it fails in the same way.
    fn try_case(&mut self, case: Case, source: Option<String>) -> bool {
        if self.time_is_up() {
            return false;
        }
        let Err(failure) = run(&case, self.sides) else { return false };
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

    /// As few pipelines as it takes.
    fn pipelines(&mut self) {
        for pipelines in [1, 2] {
            if pipelines < self.best.case.pipelines {
                let case = Case { pipelines, ..self.best.case.clone() };
                if self.try_case(case, self.best.source.clone()) {
                    return;
                }
            }
        }
    }

    /// Drops what comes after the difference.
    fn cut(&mut self) {
        if let Failure::Differs(difference) = &self.best.failure {
            let mut steps = self.best.case.steps.clone();
            steps.truncate(difference.step + 1);
            self.try_steps(steps);
        }
    }

    /// Frames one by one, if that fails as well.
    fn one_by_one(&mut self) {
        let mut steps = Vec::new();
        for step in &self.best.case.steps {
            match step {
                Step::Frames { now_ns, port, frames, .. } => {
                    steps.extend(frames.iter().map(|frame| Step::Frames {
                        now_ns: *now_ns,
                        port: *port,
                        frames: vec![frame.clone()],
                        together: false,
                    }));
                }
                Step::Control(_) => steps.push(step.clone()),
            }
        }
        if self.try_steps(steps) {
            self.cut();
        }
    }

    /// Drops steps, in ever smaller pieces.
    fn steps(&mut self) {
        let mut piece = self.best.case.steps.len().div_ceil(2);
        while piece > 0 {
            let mut at = 0;
            while at < self.best.case.steps.len() {
                let mut steps = self.best.case.steps.clone();
                steps.drain(at..(at + piece).min(steps.len()));
                if !self.try_steps(steps) {
                    at += piece;
                }
                if self.time_is_up() {
                    return;
                }
            }
            piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
        }
    }

    /// Shortens frames and makes their bytes 0.
    fn frames(&mut self) {
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
        let mut piece = self.frame(at, index).len();
        while piece > 0 {
            let mut frame = self.frame(at, index);
            if frame.len() < piece {
                piece /= 2;
                continue;
            }
            frame.truncate(frame.len() - piece);
            if !self.set_frame(at, index, frame) {
                piece /= 2;
            }
        }
    }

    fn clear_bytes(&mut self, at: usize, index: usize) {
        let mut piece = self.frame(at, index).len().div_ceil(2);
        while piece > 0 {
            let mut start = 0;
            while start < self.frame(at, index).len() {
                let mut frame = self.frame(at, index);
                let end = (start + piece).min(frame.len());
                if frame[start..end].iter().any(|byte| *byte != 0) {
                    frame[start..end].fill(0);
                    self.set_frame(at, index, frame);
                }
                start += piece;
            }
            piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
        }
    }

    /// Drops parts of the program's text.
    fn program(&mut self) {
        let mut changed = true;
        while changed && !self.time_is_up() {
            changed = false;
            let mut skip = 0;
            while let Some(text) = self.best.source.clone() {
                let edits = source::edits(&text);
                let Some(edit) = edits.get(skip) else { break };
                if self.try_source(edit.apply(&text)) {
                    changed = true;
                } else {
                    skip += 1;
                }
                if self.time_is_up() {
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
