//! Many cases on all cores, with counts that another thread may read while they run.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use netkv_ir::Program;
use netkv_p4::Options;

use crate::case::Case;
use crate::compare::{Failure, Sides, run};
use crate::packets::Recorded;
use crate::{program, reduce, report};

/// How long a failing case may take to become small.
const REDUCTION: Duration = Duration::from_secs(60);

/// A program that is to be fuzzed.
#[derive(Debug, Clone)]
pub struct Subject {
    /// How people call it.
    pub name: String,
    /// The program.
    pub program: Arc<Program>,
    /// Its text in one piece, if it may be made smaller in a report.
    pub source: Option<String>,
    /// Frames to start from.
    pub recorded: Vec<Recorded>,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Programs; each gets a case per seed.
    pub subjects: Vec<Subject>,
    /// Whether each seed also makes up a program.
    pub generated: bool,
    /// First seed.
    pub first_seed: u64,
    /// Number of seeds; none for no end.
    pub seeds: Option<u64>,
    /// Time after which no case starts.
    pub time: Option<Duration>,
    /// Packets of a case.
    pub packets: usize,
    /// Threads.
    pub threads: usize,
}

/// A failure with its report.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Name of the program; `generated` for one that was made up.
    pub program: String,
    /// The seed.
    pub seed: u64,
    /// In one line.
    pub summary: String,
    /// The whole report.
    pub report: String,
}

/// What has been done so far.
#[derive(Debug, Default)]
pub struct Progress {
    /// Cases that are done.
    pub cases: AtomicU64,
    /// Packets of those cases.
    pub packets: AtomicU64,
    /// Frames that came out.
    pub frames_out: AtomicU64,
    /// Programs that were made up and compiled.
    pub programs: AtomicU64,
    next: AtomicU64,
    stop: AtomicBool,
    /// What went wrong, as it happens.
    pub findings: Mutex<Vec<Finding>>,
}

impl Progress {
    /// Asks all threads to end after the case at hand.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The findings so far.
    pub fn findings(&self) -> Vec<Finding> {
        self.findings.lock().map(|found| found.clone()).unwrap_or_default()
    }

    fn found(&self, finding: Finding) {
        if let Ok(mut found) = self.findings.lock() {
            found.push(finding);
        }
        self.stop();
    }
}

impl Plan {
    fn subjects(&self) -> u64 {
        self.subjects.len() as u64 + u64::from(self.generated)
    }

    /// Number of cases; none for no end.
    pub fn cases(&self) -> Option<u64> {
        self.seeds.map(|seeds| seeds * self.subjects())
    }

    /// Runs all cases; the first finding ends it.
    pub fn run(&self, sides: &Sides, progress: &Progress) {
        let deadline = self.time.map(|time| Instant::now() + time);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| self.work(sides, progress, deadline));
            }
        });
    }

    fn work(&self, sides: &Sides, progress: &Progress, deadline: Option<Instant>) {
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
                Some(subject) => one(subject, seed, self.packets, sides, progress),
                None => match generated(seed) {
                    Ok(subject) => {
                        progress.programs.fetch_add(1, Ordering::Relaxed);
                        // A program of its own for each seed: fewer packets each.
                        one(&subject, seed, self.packets.min(200), sides, progress);
                    }
                    Err(finding) => progress.found(finding),
                },
            }
        }
    }
}

/// The made-up program of a seed.
///
/// # Errors
///
/// A finding when the front end does not take it.
pub fn generated(seed: u64) -> Result<Subject, Finding> {
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
        Ok(Ok(compiled)) => Ok(Subject {
            name,
            program: Arc::new(compiled.program),
            source: Some(source),
            recorded: Vec::new(),
        }),
        Ok(Err(errors)) => Err(finding("A generated program does not compile", errors.to_string())),
        Err(_) => Err(finding("The front end panicked", String::new())),
    }
}

fn one(subject: &Subject, seed: u64, packets: usize, sides: &Sides, progress: &Progress) {
    let case = Case::new(subject.program.clone(), seed, packets, &subject.recorded);
    match run(&case, sides) {
        Ok(work) => {
            progress.cases.fetch_add(1, Ordering::Relaxed);
            progress.packets.fetch_add(work.packets, Ordering::Relaxed);
            progress.frames_out.fetch_add(work.frames_out, Ordering::Relaxed);
        }
        Err(failure) => {
            // The others need not go on while this one becomes small.
            progress.stop();
            progress.found(finding(subject, seed, packets, case, failure, sides));
        }
    }
}

fn finding(
    subject: &Subject,
    seed: u64,
    packets: usize,
    case: Case,
    failure: Failure,
    sides: &Sides,
) -> Finding {
    let summary = failure.to_string().lines().next().unwrap_or_default().to_owned();
    let reduced = reduce::reduce(case, failure, subject.source.clone(), sides, REDUCTION);
    let origin = format!("{}, seed {seed}, {packets} packets a case", subject.name);
    let report = report::text(&reduced, &origin, sides);
    Finding { program: subject.name.clone(), seed, summary, report }
}

/// Memory of this process in bytes; none where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
