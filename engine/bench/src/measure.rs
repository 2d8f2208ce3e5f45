//! Measures packets per second on one core, and time per packet.
//!
//! The executors run in alternating rounds of some milliseconds, so that other load on the machine
//! affects all of them equally. The result is the median of the rounds. The rate refers to the
//! processor time of the thread. Reading the clock can take longer than a packet, so it is read
//! once for each batch of 32 packets: `ns_p50` and `ns_p99` are quantiles over batches, divided by
//! 32. Batches during which the thread lost the core are left out, as far as they are detected.

use std::hint::black_box;
use std::time::{Duration, Instant};

use netkv_dataplane::Output;

use crate::case::{Case, Executor};
use crate::check::{check_all_kinds, check_path};
use crate::clock::core_time;
use crate::contender::Contender;
use crate::error::BenchError;
use crate::programs::{self, subject};
use crate::traffic::{BATCH, Traffic};

/// Number of rounds of each executor.
const ROUNDS: u32 = 20;

/// Time between two readings of the processor time, since each is a system call.
const GROUP_DURATION: Duration = Duration::from_micros(200);
/// Maximum time off the core during a group of batches. Beyond it the group is ignored.
const MAX_OFF_CORE: Duration = Duration::from_micros(20);

/// The result for one executor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// The executor.
    pub executor: Executor,
    /// Packets per second of processor time.
    pub pps: f64,
    /// Packets per second of wall time; it is lower if the machine was busy.
    pub wall_pps: f64,
    /// Nanoseconds per packet of the median batch.
    pub ns_p50: f64,
    /// Nanoseconds per packet of the 99th percentile of batches.
    pub ns_p99: f64,
}

/// Measures a case with the available ones of the given executors, for `seconds` each.
///
/// # Errors
///
/// A sentence: the program or path is unknown, the program does not compile, the frames do not take
/// the path, or the outputs of the executors differ.
pub fn measure(
    case: &Case,
    executors: &[Executor],
    seconds: f64,
) -> Result<Vec<Measurement>, BenchError> {
    let subject = subject(&case.program)?;
    let traffic = subject.traffic(case)?;
    let program = programs::program(case)?;
    check_all_kinds(case, executors, subject)?;
    let mut contenders = Contender::all(executors, case, subject, &program)?;
    check_path(case, subject, &traffic, &mut contenders)?;
    let length = Duration::from_secs_f64(seconds.max(0.0) / f64::from(ROUNDS));
    let frames = traffic.frames.slices();
    let mut runners: Vec<Runner<'_>> =
        contenders.into_iter().map(|contender| Runner::new(contender, &traffic)).collect();
    for _ in 0..ROUNDS {
        for runner in &mut runners {
            runner.round(&frames, length);
        }
    }
    Ok(runners.into_iter().map(Runner::result).collect())
}

/// A contender and the results of its rounds.
struct Runner<'a> {
    contender: Contender,
    traffic: &'a Traffic,
    out: Output,
    now_ns: u64,
    next: usize,
    batches: Vec<u32>,
    pps: Vec<f64>,
    wall_pps: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl<'a> Runner<'a> {
    fn new(contender: Contender, traffic: &'a Traffic) -> Self {
        let rounds = || Vec::with_capacity(ROUNDS as usize);
        Self {
            contender,
            traffic,
            out: Output::new(),
            now_ns: 0,
            next: 0,
            batches: Vec::with_capacity(1 << 16),
            pps: rounds(),
            wall_pps: rounds(),
            p50: rounds(),
            p99: rounds(),
        }
    }

    fn round(&mut self, frames: &[&[u8]], length: Duration) {
        if let Some(new_frame) = self.traffic.new_frame {
            let (port, frame) = new_frame(self.pps.len() as u32 + 1);
            self.out.clear();
            self.contender.process(self.now_ns, port, &[&frame], &mut self.out);
        }
        self.batches.clear();
        let (start, start_core) = (Instant::now(), core_time());
        let (mut now, mut core) = (start, start_core);
        let mut done = 0;
        while done == 0 || now - start < length {
            let (group, group_core, group_starts) = (Instant::now(), core, self.batches.len());
            now = group;
            while now - group < GROUP_DURATION {
                done += self.batch(frames);
                let last = std::mem::replace(&mut now, Instant::now());
                self.batches.push(u32::try_from((now - last).as_nanos()).unwrap_or(u32::MAX));
            }
            core = core_time();
            let off_core = (now - group).saturating_sub(core - group_core);
            if off_core > MAX_OFF_CORE && group_starts > 0 {
                self.batches.truncate(group_starts);
            }
        }
        let (core, wall) = (core - start_core, now - start);
        self.pps.push(done as f64 / core.as_secs_f64());
        self.wall_pps.push(done as f64 / wall.as_secs_f64());
        self.batches.sort_unstable();
        let quantile = |share: f64| {
            let at = ((self.batches.len() - 1) as f64 * share).round() as usize;
            f64::from(self.batches[at]) / BATCH as f64
        };
        self.p50.push(quantile(0.5));
        self.p99.push(quantile(0.99));
    }

    /// Processes the next batch. Returns its number of packets.
    #[inline]
    fn batch(&mut self, frames: &[&[u8]]) -> usize {
        let batch = &frames[self.next..(self.next + BATCH).min(frames.len())];
        self.next = (self.next + BATCH) % frames.len();
        self.now_ns += 1_000 * BATCH as u64;
        self.out.clear();
        self.contender.process(self.now_ns, self.traffic.port, batch, &mut self.out);
        black_box(&self.out);
        batch.len()
    }

    fn result(self) -> Measurement {
        Measurement {
            executor: self.contender.executor(),
            pps: median(self.pps),
            wall_pps: median(self.wall_pps),
            ns_p50: median(self.p50),
            ns_p99: median(self.p99),
        }
    }
}

/// The median of values, of which there is at least one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        (values[middle - 1] + values[middle]) / 2.0
    } else {
        values[middle]
    }
}
