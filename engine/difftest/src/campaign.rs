//! A fuzzing campaign: it runs many cases on all cores. Another thread can read its progress.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use netkv_ir::Program;
use netkv_p4::Options;

use crate::case::Case;
use crate::compare::{Executors, Failure, run};
use crate::packets::Recorded;
use crate::{program, reduce, report};

/// Maximum time for the reduction of a failing case.
const MAX_REDUCTION_TIME: Duration = Duration::from_secs(60);

/// A program to fuzz.
#[derive(Debug, Clone)]
pub struct SubjectProgram {
    /// Its name in reports.
    pub name: String,
    /// The program.
    pub program: Arc<Program>,
    /// Its source in one file, if the program may be reduced.
    pub source: Option<String>,
    /// Recorded frames to mutate.
    pub recorded: Vec<Recorded>,
}

/// The configuration of a campaign.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// Programs; each has one case per seed.
    pub subjects: Vec<SubjectProgram>,
    /// Whether each seed also has a generated program.
    pub generated: bool,
    /// First seed.
    pub first_seed: u64,
    /// Number of seeds; none for no limit.
    pub seeds: Option<u64>,
    /// Time after which no case starts.
    pub time: Option<Duration>,
    /// Number of packets of a case.
    pub packets: usize,
    /// Number of threads.
    pub threads: usize,
}

/// A failure with its report.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Name of the program; `generated` for a generated one.
    pub program: String,
    /// The seed.
    pub seed: u64,
    /// A summary of one line.
    pub summary: String,
    /// The whole report.
    pub report: String,
}

/// The progress of a campaign.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of completed cases.
    pub cases: AtomicU64,
    /// Number of packets of those cases.
    pub packets: AtomicU64,
    /// Number of frames that the switches sent.
    pub frames_out: AtomicU64,
    /// Number of generated programs.
    pub programs: AtomicU64,
    next: AtomicU64,
    stop: AtomicBool,
    /// The findings so far.
    pub findings: Mutex<Vec<Finding>>,
}

impl Progress {
    /// Makes all threads end after their current case.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The findings so far.
    pub fn findings(&self) -> Vec<Finding> {
        self.findings.lock().map(|found| found.clone()).unwrap_or_default()
    }

    fn add_finding(&self, finding: Finding) {
        if let Ok(mut found) = self.findings.lock() {
            found.push(finding);
        }
        self.stop();
    }
}

impl Campaign {
    fn subjects(&self) -> u64 {
        self.subjects.len() as u64 + u64::from(self.generated)
    }

    /// Number of cases; none for no limit.
    pub fn cases(&self) -> Option<u64> {
        self.seeds.map(|seeds| seeds * self.subjects())
    }

    /// Runs all cases. The campaign ends at the first finding.
    pub fn run(&self, executors: &Executors, progress: &Progress) {
        NAME_CASES.call_once(name_cases);
        let deadline = self.time.map(|time| Instant::now() + time);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| self.run_worker(executors, progress, deadline));
            }
        });
    }

    fn run_worker(&self, executors: &Executors, progress: &Progress, deadline: Option<Instant>) {
        while !progress.stop.load(Ordering::Relaxed) {
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let number = progress.next.fetch_add(1, Ordering::Relaxed);
            if late || self.cases().is_none_or(|cases| number >= cases) && self.seeds.is_some() {
                return;
            }
            let subjects = self.subjects();
            if subjects == 0 {
                return;
            }
            let seed = self.first_seed.wrapping_add(number / subjects);
            match self.subjects.get((number % subjects) as usize) {
                Some(subject) => run_case(subject, seed, self.packets, executors, progress),
                None => match generated(seed) {
                    Ok(subject) => {
                        progress.programs.fetch_add(1, Ordering::Relaxed);
                        // There is a program for each seed, so each gets fewer packets.
                        run_case(&subject, seed, self.packets.min(200), executors, progress);
                    }
                    Err(finding) => progress.add_finding(finding),
                },
            }
        }
    }
}

thread_local! {
    /// The case that this thread runs; empty if it runs none.
    static CASE: RefCell<String> = const { RefCell::new(String::new()) };
}
static NAME_CASES: Once = Once::new();

/// Makes a panic say in which case it was. One in a function that machine code calls ends the
/// process, so that there is no report.
fn name_cases() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        CASE.with_borrow(|case| {
            if !case.is_empty() {
                eprintln!("The case is {case}.");
            }
        });
    }));
}

/// The generated program of a seed.
///
/// # Errors
///
/// A finding if the front end rejects it.
pub fn generated(seed: u64) -> Result<SubjectProgram, Finding> {
    let source = program::generate(seed);
    let name = "generated".to_owned();
    let finding = |summary: &str, detail: String| Finding {
        program: name.clone(),
        seed,
        summary: summary.to_owned(),
        report: format!("{summary} (generated, seed {seed})\n{detail}\n--- program\n{source}"),
    };
    let compile = || netkv_p4::compile_source("generated.p4", &source, &Options::default());
    match std::panic::catch_unwind(compile) {
        Ok(Ok(compiled)) => Ok(SubjectProgram {
            name,
            program: Arc::new(compiled.program),
            source: Some(source),
            recorded: Vec::new(),
        }),
        Ok(Err(errors)) => Err(finding("A generated program does not compile", errors.to_string())),
        Err(_) => Err(finding("The front end panicked", String::new())),
    }
}

fn run_case(
    subject: &SubjectProgram,
    seed: u64,
    packets: usize,
    executors: &Executors,
    progress: &Progress,
) {
    let origin = format!("{}, seed {seed}, {packets} packets a case", subject.name);
    CASE.set(origin.clone());
    let case = Case::new(subject.program.clone(), seed, packets, &subject.recorded);
    match run(&case, executors) {
        Ok(work) => {
            progress.cases.fetch_add(1, Ordering::Relaxed);
            progress.packets.fetch_add(work.packets, Ordering::Relaxed);
            progress.frames_out.fetch_add(work.frames_out, Ordering::Relaxed);
        }
        Err(failure) => {
            // The other threads stop before the reduction.
            progress.stop();
            progress.add_finding(finding(subject, seed, &origin, case, failure, executors));
        }
    }
    CASE.take();
}

fn finding(
    subject: &SubjectProgram,
    seed: u64,
    origin: &str,
    case: Case,
    failure: Failure,
    executors: &Executors,
) -> Finding {
    let summary = failure.to_string().lines().next().unwrap_or_default().to_owned();
    let reduced =
        reduce::reduce(case, failure, subject.source.clone(), executors, MAX_REDUCTION_TIME);
    let report = report::text(&reduced, origin, executors);
    Finding { program: subject.name.clone(), seed, summary, report }
}

/// Memory of this process in bytes; none if the system does not report it.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
