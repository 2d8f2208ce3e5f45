//! A thread that advances parts of a rack, one after the other.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use netkv_dataplane::SharedSwitch;
use netkv_roles::Nanos;

use super::division::Division;
use super::engines::Engines;
use super::part::Part;

/// A thread looks so often for what it waits for before it lets others have its core.
const SPINS: u32 = 4_000;

/// A part, and how far it is to advance.
pub(super) struct Job {
    pub number: usize,
    pub part: Box<Part>,
    pub until: Nanos,
    /// Its events before.
    pub events: u64,
}

/// What became of a job; the outer error is a panic.
pub(super) type Outcome = thread::Result<Result<(), String>>;

pub(super) struct Worker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: AtomicU8,
    slot: Mutex<Slot>,
}

const IDLE: u8 = 0;
const HAS_JOB: u8 = 1;
const HAS_RESULT: u8 = 2;
const ENDS: u8 = 3;

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Job(Job),
    Done(Job, Outcome),
}

impl Worker {
    /// Fails if the system allows no further thread.
    pub(super) fn start(
        division: Arc<Division>,
        engines: Arc<[Arc<SharedSwitch>]>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: AtomicU8::new(IDLE), slot: Mutex::new(Slot::Empty) });
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new().name("simulation".to_owned());
        let thread = thread.spawn(move || its.work(&division, &engines))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Gives an idle worker a job.
    pub(super) fn begin(&mut self, job: Job) {
        *self.shared.slot() = Slot::Job(job);
        self.shared.state.store(HAS_JOB, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Whether it has no part: no job, or one that was taken back.
    pub(super) fn is_idle(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == IDLE
    }

    /// Whether its job is done.
    pub(super) fn is_done(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == HAS_RESULT
    }

    /// The job, if it is done, and what became of it.
    pub(super) fn finished(&mut self) -> Option<(Job, Outcome)> {
        if !self.is_done() {
            return None;
        }
        let Slot::Done(job, outcome) = std::mem::take(&mut *self.shared.slot()) else {
            return None;
        };
        self.shared.state.store(IDLE, Ordering::Release);
        Some((job, outcome))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It sees this when its job is done.
        self.shared.state.store(ENDS, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, division: &Division, engines: &[Arc<SharedSwitch>]) {
        let mut spins = 0;
        loop {
            match self.state.load(Ordering::Acquire) {
                ENDS => return,
                HAS_JOB => {
                    spins = 0;
                    let Slot::Job(mut job) = std::mem::take(&mut *self.slot()) else { return };
                    let outcome = catch_unwind(AssertUnwindSafe(|| {
                        let mut engines =
                            Engines::lock(engines, division, |part| part == job.number);
                        job.part.advance(job.until, &mut engines)
                    }));
                    *self.slot() = Slot::Done(job, outcome);
                    // The owner may have told it to end meanwhile.
                    let _ = self.state.compare_exchange(
                        HAS_JOB,
                        HAS_RESULT,
                        Ordering::AcqRel,
                        Ordering::Acquire,
                    );
                }
                _ if spins < SPINS => {
                    spins += 1;
                    std::hint::spin_loop();
                }
                _ => thread::park(),
            }
        }
    }
}

/// Waits until `ready`.
pub(super) fn wait(mut ready: impl FnMut() -> bool) {
    let mut spins = 0;
    while !ready() {
        spins += 1;
        if spins < SPINS {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}
