//! Parts of a rack that advance at the same time.
//!
//! Rules
//! -----
//! 1. All parts advance in steps of the same length. In each step the groups of switches handle one
//!    step of virtual time, and the clients the one before it: they must know what the switches have
//!    announced to them up to the end of it.
//! 2. A frame that a part sends in a step reaches the other part before that part handles the time
//!    of its arrival. So a step is at most half the lookahead of the clients, whose frames are sent
//!    one step later, and the whole lookahead of the groups.
//! 3. Between two steps all threads have met. No part goes beyond the next message of a control
//!    channel, which follows from all parts.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use netkv_dataplane::SharedSwitch;
use netkv_roles::Nanos;

use super::across::Outbox;
use super::division::Division;
use super::engines::Engines;
use super::part::Part;

/// Maximum number of steps that are left out because nothing happens in them.
const LONGEST_IDLE: Nanos = 64;
/// Least number of events in a step, and in all steps together, for which threads pay.
const WORTH_IN_STEP: f64 = 200.0;
const WORTH_IN_ALL: f64 = 4_000.0;
/// Number of events for which parts advance at a time.
const STRIDE: f64 = 1_000.0;
/// A thread looks so often for the others before it offers its core to others; if there are fewer
/// cores than threads, it does so at once.
const SPINS: u32 = 4_000;

/// The rate of events.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Events in a nanosecond of virtual time, recently.
    rate: f64,
}

impl Pace {
    /// Whether threads save time from `now` to `end`.
    pub(super) fn is_worth_threads(&self, now: Nanos, end: Nanos, division: &Division) -> bool {
        self.rate * end.saturating_sub(now) as f64 >= WORTH_IN_ALL
            && self.rate * step_of(division) as f64 >= WORTH_IN_STEP
    }

    /// How far parts advance at a time, at most `longest`: what they send each other should be in the
    /// nearer caches when it arrives.
    pub(super) fn stride(&self, longest: Nanos) -> Nanos {
        if self.rate * longest as f64 <= STRIDE {
            return longest;
        }
        (STRIDE / self.rate) as Nanos + 1
    }

    /// There were so many events in so many nanoseconds.
    pub(super) fn note(&mut self, events: u64, span: Nanos) {
        if events > 0 && span > 0 {
            // Long spans count for more than short ones.
            let weight = events as f64 / (events as f64 + WORTH_IN_ALL);
            self.rate += weight * (events as f64 / span as f64 - self.rate);
        }
    }
}

/// The longest step (rule 2).
fn step_of(division: &Division) -> Nanos {
    (division.from_clients / 2).min(division.between_switches).max(1)
}

/// Advances all parts up to `end`, or up to the next message of a control channel. Returns how far.
pub(super) fn advance(
    parts: &mut [Part],
    division: &Division,
    engines: &[Arc<SharedSwitch>],
    threads: usize,
    pace: &Pace,
    (start, end): (Nanos, Nanos),
) -> Result<Nanos, String> {
    let count = parts.len();
    let steps = Steps {
        length: pace.stride(step_of(division)),
        clients: division.of_clients(),
        mail: (0..count * count).map(|_| Mutex::default()).collect(),
        parts: count,
        due: parts.iter().map(|part| AtomicU64::new(part.controls.due())).collect(),
        idle_until: parts.iter().map(|_| AtomicU64::new(0)).collect(),
        reached: AtomicU64::new(start),
        end: AtomicU64::new(end),
        failure: Mutex::default(),
        meeting: Meeting::new(threads.min(count)),
    };
    let mut shares: Vec<Vec<(usize, &mut Part)>> =
        (0..threads.min(count)).map(|_| Vec::new()).collect();
    let mut loads = vec![0; shares.len()];
    let mut by_events: Vec<(usize, &mut Part)> = parts.iter_mut().enumerate().collect();
    by_events.sort_by_key(|(_, part)| std::cmp::Reverse(part.events));
    for (number, part) in by_events {
        let least = (0..loads.len()).min_by_key(|at| loads[*at]).unwrap_or(0);
        loads[least] += part.events + 1;
        shares[least].push((number, part));
    }
    thread::scope(|scope| {
        let mut shares = shares.into_iter();
        let own = shares.next();
        for share in shares {
            let steps = &steps;
            scope.spawn(move || steps.work(share, division, engines));
        }
        if let Some(share) = own {
            steps.work(share, division, engines);
        }
    });
    let Steps { mail, failure, end, .. } = steps;
    for (at, outbox) in mail.into_iter().enumerate() {
        let mut outbox = outbox.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts[at % count].receive_from(at / count, &mut outbox);
    }
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(end.into_inner()),
        Some(text) => Err(text),
    }
}

/// What the threads share.
struct Steps {
    length: Nanos,
    /// The part of the clients.
    clients: usize,
    parts: usize,
    /// Frames from one part (first index) to another that it has not taken yet.
    mail: Vec<Mutex<Outbox>>,
    /// For each part, when the next message of its control channels arrives.
    due: Vec<AtomicU64>,
    /// For each part, a time before which it has no event, nor any part one because of it.
    idle_until: Vec<AtomicU64>,
    /// Where the groups of switches, and one step later the clients, are. Changes only while all
    /// threads meet, as `end` does.
    reached: AtomicU64,
    /// Where all parts stop.
    end: AtomicU64,
    failure: Mutex<Option<String>>,
    meeting: Meeting,
}

impl Steps {
    /// Advances these parts with the others, step by step.
    fn work(
        &self,
        mut share: Vec<(usize, &mut Part)>,
        division: &Division,
        engines: &[Arc<SharedSwitch>],
    ) {
        let _alarm = Alarm(&self.meeting);
        let mut engines =
            Engines::lock(engines, division, |part| share.iter().any(|(own, _)| *own == part));
        loop {
            let reached = self.reached.load(Ordering::Acquire);
            let end = self.end.load(Ordering::Acquire);
            let next = reached.saturating_add(self.length).min(end);
            for (number, part) in &mut share {
                let until = if *number == self.clients { reached } else { next };
                self.take_mail(*number, part);
                if let Err(text) = part.advance(until, &mut engines) {
                    lock(&self.failure).get_or_insert(text);
                }
                let arrival = self.send_mail(*number, part);
                let far = until.saturating_add(LONGEST_IDLE * self.length).min(end).max(until);
                let event = part.next(far).unwrap_or(far);
                self.idle_until[*number].store(event.min(arrival), Ordering::Release);
                self.due[*number].store(part.controls.due(), Ordering::Release);
            }
            self.meeting.wait(|| {
                // After a failure all threads stop where they are.
                let failed = lock(&self.failure).is_some();
                let end = if failed { 0 } else { end.min(first(&self.due)) };
                self.end.store(end, Ordering::Release);
                let next = next.max(first(&self.idle_until)).min(end);
                self.reached.store(next, Ordering::Release);
            });
            let end = self.end.load(Ordering::Acquire);
            if end == 0 || reached >= end {
                return;
            }
        }
    }

    fn take_mail(&self, number: usize, part: &mut Part) {
        for from in 0..self.parts {
            let mut outbox = lock(&self.mail[from * self.parts + number]);
            if !outbox.is_empty() {
                part.receive_from(from, &mut outbox);
            }
        }
    }

    /// Returns when the first of these frames arrives.
    fn send_mail(&self, number: usize, part: &mut Part) -> Nanos {
        let mut first = Nanos::MAX;
        for (to, outbox) in part.outboxes.iter_mut().enumerate() {
            if !outbox.is_empty() {
                first = first.min(outbox.first_arrival());
                lock(&self.mail[number * self.parts + to]).append(outbox);
            }
        }
        first
    }
}

/// The earliest of some times.
fn first(times: &[AtomicU64]) -> Nanos {
    times.iter().map(|time| time.load(Ordering::Acquire)).min().unwrap_or(Nanos::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A point that all threads must reach before any of them goes on.
struct Meeting {
    threads: usize,
    spins: u32,
    arrived: AtomicUsize,
    /// Number of meetings that are over.
    over: AtomicUsize,
    /// A thread has panicked and does not come.
    broken: AtomicBool,
}

impl Meeting {
    fn new(threads: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            threads,
            spins: if threads <= cores { SPINS } else { 0 },
            arrived: AtomicUsize::new(0),
            over: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits for the other threads. The last one calls `last` before all go on.
    fn wait(&self, last: impl FnOnce()) {
        let meeting = self.over.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            last();
            self.arrived.store(0, Ordering::Release);
            self.over.store(meeting + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.over.load(Ordering::Acquire) == meeting {
            assert!(!self.broken.load(Ordering::Acquire), "another part of the rack has failed");
            spins += 1;
            if spins < self.spins {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// Tells the other threads if this one panics.
struct Alarm<'a>(&'a Meeting);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}
