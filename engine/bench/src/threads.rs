//! Measures a switch whose pipelines have threads of their own against a switch with one pipeline.
//!
//! All is in memory: each thread processes batches of frames of its own pipeline, hands over the
//! packets for the ports of other pipelines, and processes those that it gets, as the threads of a
//! switch node do. Frames that leave the switch are counted. One and several threads take turns; a
//! ratio is the median of those of successive turns.
//!
//! The rate of a switch refers to wall time, so the threads need cores that do nothing else. The
//! sum of the rates of threads refers to their processor time: it does not depend on other load,
//! except by what the processor shares, and shows what threads cost each other.
#![allow(clippy::vec_box)] // a packet is large, and boxes are cheap to move

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use netkv_dataplane::{BATCH as CHUNK, CrossingQueues, Output, Packet, SharedSwitch};

use crate::case::{Case, Executor};
use crate::clock::core_time;
use crate::error::BenchError;
use crate::filled_switch::filled_switch;
use crate::measure::median;
use crate::traffic::{BATCH, Traffic};

/// Number of turns of each switch.
const TURNS: u32 = 20;
/// Number of batches between two readings of the clock.
const BATCHES: usize = 16;
/// Number of waiting packets for other pipelines from which on a thread takes no more frames, as if
/// the load waited for replies.
const WINDOW: usize = 512;

/// The results of one and of several threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadsMeasurement {
    /// Packets per second of wall time of the switch with one pipeline.
    pub one: f64,
    /// Packets per second of wall time of all pipelines together.
    pub all: f64,
    /// Their ratio.
    pub ratio: f64,
    /// The ratio of packets per second of processor time, added up over the threads.
    pub core_ratio: f64,
    /// Share of the packets that changed to another pipeline.
    pub crossed: f64,
    /// Share of the packets that found a queue between two pipelines full.
    pub dropped: f64,
}

/// Measures the switch of a case against one with one pipeline, with compiled executors, for
/// `seconds` each.
///
/// # Errors
///
/// As [`crate::measure`], and if the benchmark has no frames for each pipeline.
pub fn measure_threads(case: &Case, seconds: f64) -> Result<ThreadsMeasurement, BenchError> {
    let one = Case { pipelines: 1, ..case.clone() };
    let contestants = [Contestant::new(&one)?, Contestant::new(case)?];
    let length = Duration::from_secs_f64(seconds.max(0.0) / f64::from(TURNS));
    let [mut rates, mut core_rates] = [(); 2].map(|()| [Vec::new(), Vec::new()]);
    let mut sum = Turn::default();
    for _ in 0..TURNS {
        for (at, contestant) in contestants.iter().enumerate() {
            let turn = contestant.turn(length);
            rates[at].push(turn.rate);
            core_rates[at].push(turn.core_rate);
            if at == 1 {
                sum.add(turn);
            }
        }
    }
    let paired = |rates: &[Vec<f64>; 2]| {
        median(rates[1].iter().zip(&rates[0]).map(|(all, one)| all / one).collect())
    };
    let (ratio, core_ratio) = (paired(&rates), paired(&core_rates));
    let [one, all] = rates.map(median);
    Ok(ThreadsMeasurement {
        one,
        all,
        ratio,
        core_ratio,
        crossed: sum.crossed as f64 / sum.received as f64,
        dropped: sum.dropped as f64 / sum.received as f64,
    })
}

/// A filled switch and the frames of each pipeline.
struct Contestant {
    switch: SharedSwitch,
    traffic: Vec<Traffic>,
}

/// What the threads of a switch did in a turn.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    /// Packets per second of wall time.
    rate: f64,
    /// Packets per second of processor time.
    core_rate: f64,
    received: u64,
    crossed: u64,
    dropped: u64,
}

impl Turn {
    fn add(&mut self, other: Self) {
        self.rate += other.rate;
        self.core_rate += other.core_rate;
        self.received += other.received;
        self.crossed += other.crossed;
        self.dropped += other.dropped;
    }
}

impl Contestant {
    fn new(case: &Case) -> Result<Self, BenchError> {
        let (switch, traffic) = filled_switch(case, Executor::Compiled)?;
        Ok(Self { switch: SharedSwitch::new(switch), traffic })
    }

    fn turn(&self, length: Duration) -> Turn {
        let queues = CrossingQueues::new(self.switch.in_flight());
        let start = Barrier::new(self.traffic.len());
        let mut sum = Turn::default();
        std::thread::scope(|scope| {
            let lanes = self.traffic.iter().enumerate().map(|(pipeline, traffic)| {
                let (switch, queues, start) = (&self.switch, &queues, &start);
                scope.spawn(move || Lane::new(switch, queues, pipeline).run(traffic, length, start))
            });
            for lane in lanes.collect::<Vec<_>>() {
                sum.add(lane.join().expect("a measuring thread does not panic"));
            }
        });
        sum
    }
}

/// A thread with its pipeline.
struct Lane<'a> {
    switch: &'a SharedSwitch,
    queues: &'a CrossingQueues,
    pipeline: usize,
    out: Output,
    leaving: Vec<Box<Packet>>,
    arriving: Vec<Box<Packet>>,
    /// For each pipeline.
    returning: Vec<Vec<Box<Packet>>>,
    spare: Vec<Box<Packet>>,
    /// Number of frames that have left.
    sent: usize,
    turn: Turn,
}

impl<'a> Lane<'a> {
    fn new(switch: &'a SharedSwitch, queues: &'a CrossingQueues, pipeline: usize) -> Self {
        Self {
            switch,
            queues,
            pipeline,
            out: Output::new(),
            leaving: Vec::new(),
            arriving: Vec::new(),
            returning: (0..queues.pipelines()).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            sent: 0,
            turn: Turn::default(),
        }
    }

    fn run(mut self, traffic: &Traffic, length: Duration, start: &Barrier) -> Turn {
        let frames = traffic.frames.slices();
        let mut batches = frames.chunks(BATCH).cycle();
        let mut now_ns = 0;
        start.wait();
        let (begin, begin_core) = (Instant::now(), core_time());
        while begin.elapsed() < length {
            if self.queues.pipelines() > 1 && self.queues.waiting(self.pipeline) > WINDOW {
                self.exchange();
                // The other threads may wait for this core.
                std::thread::yield_now();
                continue;
            }
            for batch in batches.by_ref().take(BATCHES) {
                now_ns += 1_000 * BATCH as u64;
                let mut pipeline = self.switch.lock_pipeline(self.pipeline);
                let frames = batch.iter().copied();
                pipeline.process_batch(now_ns, traffic.port, frames, &mut self.out);
                pipeline.take_crossing(&mut self.leaving);
                pipeline.reuse(&mut self.spare);
                drop(pipeline);
                self.turn.received += batch.len() as u64;
                self.exchange();
            }
        }
        self.turn.rate = self.sent as f64 / begin.elapsed().as_secs_f64();
        self.turn.core_rate = self.sent as f64 / (core_time() - begin_core).as_secs_f64();
        self.turn
    }

    /// Hands over packets to other pipelines, processes those of others, and counts the output.
    fn exchange(&mut self) {
        if !self.leaving.is_empty() {
            self.turn.crossed += self.leaving.len() as u64;
            let dropped =
                self.queues.send(self.pipeline, &mut self.leaving, &mut self.spare, |_| ());
            self.turn.dropped += dropped as u64;
        }
        for from in (0..self.queues.pipelines()).filter(|from| *from != self.pipeline) {
            let returning = &mut self.returning[from];
            self.queues.take(from, self.pipeline, &mut self.arriving, returning);
            let mut packets = self.arriving.drain(..);
            while packets.len() > 0 {
                let chunk = packets.by_ref().take(CHUNK);
                let mut pipeline = self.switch.lock_pipeline(self.pipeline);
                pipeline.receive_crossing(chunk, returning, &mut self.out);
            }
        }
        self.sent += self.out.len();
        black_box(&self.out);
        self.out.clear();
    }
}
