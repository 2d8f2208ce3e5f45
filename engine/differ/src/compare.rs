//! The same steps on two switches: everything that anyone can see must agree.

use std::fmt;
use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{Output, ProgramError, Switch, SwitchOptions};
use netkv_ir::Program;

use crate::case::{Case, Step};

/// Cells that are compared after every step; larger objects are compared at the end.
const CELLS_PER_STEP: u64 = 512;

/// Loads a program into a switch.
pub type Load = dyn Fn(&Arc<Program>, SwitchOptions) -> Result<Switch, ProgramError> + Send + Sync;

/// The two that are compared.
pub struct Sides {
    /// The one that is right.
    pub left: Box<Load>,
    /// The one that is tested.
    pub right: Box<Load>,
}

impl Sides {
    /// Interpreter and compiled executor.
    pub fn executors() -> Self {
        let load = |kind| {
            move |program: &Arc<Program>, options| {
                netkv_compiled::switch(program.clone(), options, kind)
            }
        };
        Self {
            left: Box::new(load(ExecutorKind::Interpreter)),
            right: Box::new(load(ExecutorKind::Compiled)),
        }
    }
}

/// Something that is not the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Index of the step after which it showed.
    pub step: usize,
    /// What it is, such as `frame 2 of the step's output` or `register Ingress.r[3]`.
    pub what: String,
    /// What the left switch says.
    pub left: String,
    /// What the right switch says.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (after step {}):", self.what, self.step)?;
        writeln!(f, "  interpreter  {}", self.left)?;
        write!(f, "  compiled     {}", self.right)
    }
}

/// What a case that agrees has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Frames that went in.
    pub packets: u64,
    /// Frames that came out.
    pub frames_out: u64,
    /// Frames that the program dropped.
    pub dropped: u64,
    /// Parser errors.
    pub parser_errors: u64,
}

/// Why a case did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// One of the switches refuses the program.
    Load {
        /// Which: `interpreter` or `compiled`.
        side: &'static str,
        /// What it says.
        message: String,
    },
    /// The switches do not agree.
    Differs(Difference),
    /// A switch panicked.
    Panicked(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Load { side, message } => write!(f, "the {side} refuses it: {message}"),
            Failure::Differs(difference) => difference.fmt(f),
            Failure::Panicked(message) => write!(f, "panicked: {message}"),
        }
    }
}

/// Runs a case; panics are failures too.
///
/// # Errors
///
/// The first [`Failure`].
pub fn run(case: &Case, sides: &Sides) -> Result<Work, Failure> {
    let work = std::panic::AssertUnwindSafe(|| run_steps(case, sides));
    std::panic::catch_unwind(work).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Failure::Panicked(text.unwrap_or_else(|| "without a message".to_owned())))
    })
}

/// Loads both switches.
///
/// # Errors
///
/// [`Failure::Load`].
pub fn load(case: &Case, sides: &Sides) -> Result<(Switch, Switch), Failure> {
    let load = |side, load: &Load| {
        let loaded = load(&case.program, case.options());
        loaded.map_err(|error| Failure::Load { side, message: error.to_string() })
    };
    Ok((load("interpreter", &*sides.left)?, load("compiled", &*sides.right)?))
}

fn run_steps(case: &Case, sides: &Sides) -> Result<Work, Failure> {
    let Case { program, pipelines, steps, .. } = case;
    let (mut left, mut right) = load(case, sides)?;
    let mut pair = Pair {
        program,
        left: &mut left,
        right: &mut right,
        step: 0,
        outputs: (Output::new(), Output::new()),
    };
    let cells: u64 = program.registers.iter().map(|r| u64::from(r.size)).sum::<u64>()
        + program.counters.iter().map(|c| u64::from(c.size)).sum::<u64>();
    let cells = cells * *pipelines as u64;
    let mut now = 0;
    for (at, step) in steps.iter().enumerate() {
        pair.step = at;
        match step {
            Step::Control(request) => {
                let answers = (request.apply(pair.left), request.apply(pair.right));
                pair.equal("the answer to a request", &answers.0, &answers.1)?;
            }
            Step::Frames { now_ns, port, frames, together } => {
                now = *now_ns;
                pair.frames(now, *port, frames, *together)?;
                if cells <= CELLS_PER_STEP {
                    pair.cells()?;
                }
            }
        }
    }
    pair.cells()?;
    pair.direct_counters()?;
    let late = now.saturating_add(3_000_000);
    let idle = (pair.left.idle_entries(late), pair.right.idle_entries(late));
    pair.equal("the idle entries", &idle.0, &idle.1)?;
    let statistics = pair.left.statistics();
    Ok(Work {
        packets: statistics.packets_in,
        frames_out: statistics.packets_out,
        dropped: statistics.dropped(),
        parser_errors: statistics.parser_errors,
    })
}

struct Pair<'a> {
    program: &'a Program,
    left: &'a mut Switch,
    right: &'a mut Switch,
    step: usize,
    outputs: (Output, Output),
}

impl Pair<'_> {
    fn differs(&self, what: &str, left: String, right: String) -> Failure {
        Failure::Differs(Difference { step: self.step, what: what.to_owned(), left, right })
    }

    fn equal<T: PartialEq + fmt::Debug>(
        &self,
        what: &str,
        left: &T,
        right: &T,
    ) -> Result<(), Failure> {
        if left == right {
            return Ok(());
        }
        Err(self.differs(what, format!("{left:?}"), format!("{right:?}")))
    }

    fn frames(
        &mut self,
        now_ns: u64,
        port: u16,
        frames: &[Vec<u8>],
        together: bool,
    ) -> Result<(), Failure> {
        self.outputs.0.clear();
        self.outputs.1.clear();
        if together {
            let of = || frames.iter().map(Vec::as_slice);
            self.left.process_batch(now_ns, port, of(), &mut self.outputs.0);
            self.right.process_batch(now_ns, port, of(), &mut self.outputs.1);
        } else {
            for frame in frames {
                self.left.process(now_ns, port, frame, &mut self.outputs.0);
                self.right.process(now_ns, port, frame, &mut self.outputs.1);
            }
        }
        self.output()?;
        let digests = (self.left.take_digests(), self.right.take_digests());
        self.equal("the digests", &digests.0, &digests.1)?;
        self.equal("the statistics", self.left.statistics(), self.right.statistics())
    }

    fn output(&self) -> Result<(), Failure> {
        let (left, right) = (&self.outputs.0, &self.outputs.1);
        if left.frames().eq(right.frames()) {
            return Ok(());
        }
        let mut others = right.frames();
        for (at, frame) in left.frames().enumerate() {
            let other = others.next();
            if other != Some(frame) {
                let what = format!("frame {at} of the output");
                return Err(self.differs(&what, frame_text(Some(frame)), frame_text(other)));
            }
        }
        let what = format!("frame {} of the output", left.len());
        Err(self.differs(&what, frame_text(None), frame_text(others.next())))
    }

    /// Registers and counters of all pipelines.
    fn cells(&mut self) -> Result<(), Failure> {
        for pipeline in 0..self.left.pipelines() {
            self.cells_of(pipeline).map_err(|failure| match failure {
                Failure::Differs(Difference { step, what, left, right })
                    if self.left.pipelines() > 1 =>
                {
                    let what = format!("{what} of pipeline {pipeline}");
                    Failure::Differs(Difference { step, what, left, right })
                }
                other => other,
            })?;
        }
        Ok(())
    }

    fn cells_of(&mut self, pipeline: usize) -> Result<(), Failure> {
        for register in &self.program.registers {
            let id = register.identity.id;
            let read = |switch: &mut Switch| {
                switch.in_pipeline(pipeline, |switch| switch.read_register(id, None))
            };
            let cells = (read(self.left), read(self.right));
            if cells.0 == cells.1 {
                continue;
            }
            let (left, right) = (cells.0.unwrap_or_default(), cells.1.unwrap_or_default());
            for ((index, left), (_, right)) in left.iter().zip(&right) {
                if left != right {
                    let what = format!("register {}[{index}]", register.identity.name);
                    return Err(self.differs(&what, left.to_string(), right.to_string()));
                }
            }
        }
        for counter in self.program.counters.iter().filter(|c| c.direct.is_none()) {
            let id = counter.identity.id;
            let read = |switch: &mut Switch| {
                switch.in_pipeline(pipeline, |switch| switch.read_counter(id, None))
            };
            let cells = (read(self.left), read(self.right));
            if cells.0 == cells.1 {
                continue;
            }
            let (left, right) = (cells.0.unwrap_or_default(), cells.1.unwrap_or_default());
            for ((index, left), (_, right)) in left.iter().zip(&right) {
                let what = format!("counter {}[{index}]", counter.identity.name);
                self.equal(&what, left, right)?;
            }
        }
        Ok(())
    }

    fn direct_counters(&self) -> Result<(), Failure> {
        let entries = (self.left.read_entries(None), self.right.read_entries(None));
        self.equal("the entries", &entries.0, &entries.1)?;
        for table in self.program.tables.iter().filter(|t| t.direct_counter.is_some()) {
            let id = table.identity.id;
            for entry in entries.0.iter().filter(|entry| entry.table_id == id) {
                let read = |switch: &Switch| {
                    switch.read_direct_counter(id, &entry.matches, entry.priority)
                };
                let what = format!("the direct counter of {:?}", entry.matches);
                self.equal(&what, &read(self.left), &read(self.right))?;
            }
        }
        Ok(())
    }
}

fn frame_text(frame: Option<(u16, &[u8])>) -> String {
    match frame {
        None => "no frame".to_owned(),
        Some((port, bytes)) => {
            format!("port {port}, {} bytes: {}", bytes.len(), crate::report::hex(bytes))
        }
    }
}
