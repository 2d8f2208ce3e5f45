//! Runs the same steps on two switches and compares all observable results.

use std::fmt;
use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{Frame, Output, ProgramError, Switch, SwitchOptions};
use netkv_ir::Program;

use crate::bits::hex;
use crate::case::{Case, Step};

/// Maximum number of cells for a comparison after every step. More are compared at the end only.
const CELLS_PER_STEP: u64 = 512;

/// Loads a program into a switch.
pub type LoadProgram =
    dyn Fn(&Arc<Program>, SwitchOptions) -> Result<Switch, ProgramError> + Send + Sync;

/// The two executors that are compared.
pub struct Executors {
    /// The reference.
    pub reference: Box<LoadProgram>,
    /// The executor under test.
    pub tested: Box<LoadProgram>,
}

impl Executors {
    /// The interpreter and the compiled executor.
    pub fn interpreter_and_compiled() -> Self {
        let load = |kind| {
            move |program: &Arc<Program>, options| {
                netkv_compiled::switch(program.clone(), options, kind)
            }
        };
        Self {
            reference: Box::new(load(ExecutorKind::Interpreter)),
            tested: Box::new(load(ExecutorKind::Compiled)),
        }
    }
}

/// A difference between two results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Index of the step after which it was found.
    pub step: usize,
    /// What differs, such as `frame 2 of the step's output` or `register Ingress.r[3]`.
    pub what: String,
    /// The result of the reference.
    pub reference: String,
    /// The result of the tested executor.
    pub tested: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (after step {}):", self.what, self.step)?;
        writeln!(f, "  interpreter  {}", self.reference)?;
        write!(f, "  compiled     {}", self.tested)
    }
}

/// Statistics of a case without a difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaseStatistics {
    /// Number of input frames.
    pub packets: u64,
    /// Number of sent frames.
    pub frames_out: u64,
    /// Number of frames that the program dropped.
    pub dropped: u64,
    /// Number of parser errors.
    pub parser_errors: u64,
}

/// The failure of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// One of the switches rejected the program.
    Load {
        /// Its executor: `interpreter` or `compiled`.
        side: &'static str,
        /// The error.
        message: String,
    },
    /// The results of the switches differ.
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

/// Runs a case. A panic is a failure, too.
///
/// # Errors
///
/// The first [`Failure`].
pub fn run(case: &Case, executors: &Executors) -> Result<CaseStatistics, Failure> {
    let work = std::panic::AssertUnwindSafe(|| run_steps(case, executors));
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
pub fn load_switches(case: &Case, executors: &Executors) -> Result<(Switch, Switch), Failure> {
    let load_one = |side, load: &LoadProgram| {
        let loaded = load(&case.program, case.options());
        loaded.map_err(|error| Failure::Load { side, message: error.to_string() })
    };
    Ok((load_one("interpreter", &*executors.reference)?, load_one("compiled", &*executors.tested)?))
}

fn run_steps(case: &Case, executors: &Executors) -> Result<CaseStatistics, Failure> {
    let Case { program, pipelines, steps, .. } = case;
    let (mut reference, mut tested) = load_switches(case, executors)?;
    let mut pair = SwitchPair {
        program,
        reference: &mut reference,
        tested: &mut tested,
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
                let answers = (request.apply(pair.reference), request.apply(pair.tested));
                pair.assert_equal("the answer to a request", &answers.0, &answers.1)?;
            }
            Step::Frames { now_ns, port, frames, batched } => {
                now = *now_ns;
                pair.process_frames(now, *port, frames, *batched)?;
                if cells <= CELLS_PER_STEP {
                    pair.compare_cells()?;
                }
            }
        }
    }
    pair.compare_cells()?;
    pair.compare_direct_counters()?;
    let late = now.saturating_add(3_000_000);
    let idle = (pair.reference.idle_entries(late), pair.tested.idle_entries(late));
    pair.assert_equal("the idle entries", &idle.0, &idle.1)?;
    let statistics = pair.reference.statistics();
    Ok(CaseStatistics {
        packets: statistics.packets_in,
        frames_out: statistics.packets_out,
        dropped: statistics.dropped(),
        parser_errors: statistics.parser_errors,
    })
}

/// Two switches that execute the same steps.
struct SwitchPair<'a> {
    program: &'a Program,
    reference: &'a mut Switch,
    tested: &'a mut Switch,
    step: usize,
    outputs: (Output, Output),
}

impl SwitchPair<'_> {
    fn difference(&self, what: &str, reference: String, tested: String) -> Failure {
        Failure::Differs(Difference { step: self.step, what: what.to_owned(), reference, tested })
    }

    fn assert_equal<T: PartialEq + fmt::Debug>(
        &self,
        what: &str,
        reference: &T,
        tested: &T,
    ) -> Result<(), Failure> {
        if reference == tested {
            return Ok(());
        }
        Err(self.difference(what, format!("{reference:?}"), format!("{tested:?}")))
    }

    fn process_frames(
        &mut self,
        now_ns: u64,
        port: u16,
        frames: &[Vec<u8>],
        batched: bool,
    ) -> Result<(), Failure> {
        self.outputs.0.clear();
        self.outputs.1.clear();
        // Some frames are announced before, some when they will not come any more. That changes
        // nothing. A case that is reduced keeps its announcements.
        let announced = frames.first().map(|frame| frame.len() % 4);
        if announced == Some(0) {
            self.announce(now_ns, port, frames);
        }
        if batched {
            let of = || frames.iter().map(Vec::as_slice);
            self.reference.process_batch(now_ns, port, of(), &mut self.outputs.0);
            self.tested.process_batch(now_ns, port, of(), &mut self.outputs.1);
        } else {
            for frame in frames {
                self.reference.process(now_ns, port, frame, &mut self.outputs.0);
                self.tested.process(now_ns, port, frame, &mut self.outputs.1);
            }
        }
        if announced == Some(1) {
            self.announce(now_ns, port, frames);
        }
        self.compare_output()?;
        let digests = (self.reference.take_digests(), self.tested.take_digests());
        self.assert_equal("the digests", &digests.0, &digests.1)?;
        self.assert_equal("the statistics", self.reference.statistics(), self.tested.statistics())
    }

    fn announce(&mut self, now_ns: u64, port: u16, frames: &[Vec<u8>]) {
        let frames = frames.iter().map(|bytes| Frame { bytes, port, now_ns });
        self.tested.prefetch(&frames.collect::<Vec<_>>());
    }

    fn compare_output(&self) -> Result<(), Failure> {
        let (reference, tested) = (&self.outputs.0, &self.outputs.1);
        if reference.frames().eq(tested.frames()) {
            let passes = "the passes of the output's frames";
            return self.assert_equal(passes, &reference.again(), &tested.again());
        }
        let mut others = tested.frames();
        for (at, frame) in reference.frames().enumerate() {
            let other = others.next();
            if other != Some(frame) {
                let what = format!("frame {at} of the output");
                return Err(self.difference(&what, frame_text(Some(frame)), frame_text(other)));
            }
        }
        let what = format!("frame {} of the output", reference.len());
        Err(self.difference(&what, frame_text(None), frame_text(others.next())))
    }

    /// Compares the registers and counters of all pipelines.
    fn compare_cells(&mut self) -> Result<(), Failure> {
        for pipeline in 0..self.reference.pipelines() {
            self.compare_cells_of(pipeline).map_err(|failure| match failure {
                Failure::Differs(Difference { step, what, reference, tested })
                    if self.reference.pipelines() > 1 =>
                {
                    let what = format!("{what} of pipeline {pipeline}");
                    Failure::Differs(Difference { step, what, reference, tested })
                }
                other => other,
            })?;
        }
        Ok(())
    }

    fn compare_cells_of(&mut self, pipeline: usize) -> Result<(), Failure> {
        for register in &self.program.registers {
            let id = register.identity.id;
            let read = |switch: &mut Switch| {
                switch.in_pipeline(pipeline, |switch| switch.read_register(id, None))
            };
            let cells = (read(self.reference), read(self.tested));
            if cells.0 == cells.1 {
                continue;
            }
            let (reference, tested) = (cells.0.unwrap_or_default(), cells.1.unwrap_or_default());
            for ((index, reference), (_, tested)) in reference.iter().zip(&tested) {
                if reference != tested {
                    let what = format!("register {}[{index}]", register.identity.name);
                    return Err(self.difference(&what, reference.to_string(), tested.to_string()));
                }
            }
        }
        for counter in self.program.counters.iter().filter(|c| c.direct.is_none()) {
            let id = counter.identity.id;
            let read = |switch: &mut Switch| {
                switch.in_pipeline(pipeline, |switch| switch.read_counter(id, None))
            };
            let cells = (read(self.reference), read(self.tested));
            if cells.0 == cells.1 {
                continue;
            }
            let (reference, tested) = (cells.0.unwrap_or_default(), cells.1.unwrap_or_default());
            for ((index, reference), (_, tested)) in reference.iter().zip(&tested) {
                let what = format!("counter {}[{index}]", counter.identity.name);
                self.assert_equal(&what, reference, tested)?;
            }
        }
        Ok(())
    }

    fn compare_direct_counters(&self) -> Result<(), Failure> {
        let entries = (self.reference.read_entries(None), self.tested.read_entries(None));
        self.assert_equal("the entries", &entries.0, &entries.1)?;
        for table in self.program.tables.iter().filter(|t| t.direct_counter.is_some()) {
            let id = table.identity.id;
            for entry in entries.0.iter().filter(|entry| entry.table_id == id) {
                let read = |switch: &Switch| {
                    switch.read_direct_counter(id, &entry.matches, entry.priority)
                };
                let what = format!("the direct counter of {:?}", entry.matches);
                self.assert_equal(&what, &read(self.reference), &read(self.tested))?;
            }
        }
        Ok(())
    }
}

fn frame_text(frame: Option<(u16, &[u8])>) -> String {
    match frame {
        None => "no frame".to_owned(),
        Some((port, bytes)) => {
            format!("port {port}, {} bytes: {}", bytes.len(), hex(bytes))
        }
    }
}
