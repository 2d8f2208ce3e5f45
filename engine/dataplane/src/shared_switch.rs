//! A switch whose pipelines run on threads of their own.
//!
//! Each pipeline is behind a lock of its own, with everything that its packets change: objects,
//! executor, queues, digests, statistics. A thread locks its pipeline for a batch of frames, and
//! takes the packets that go to the egress of other pipelines ([`Switch::take_crossing`]); the
//! threads of those process them ([`Switch::receive_crossing`]).
//!
//! The control plane locks one pipeline, or all of them in order. With all of them locked it has
//! the whole [`Switch`], as if there were no threads: checks and writes in all pipelines, sums,
//! traces, or the exchange of the switch for one with another program. Before it confirms a write,
//! it waits for packets that are between two pipelines ([`SharedSwitch::settle`]).

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::crossing::Crossing;
use crate::digest::DigestQueue;
use crate::error::ControlError;
use crate::in_flight::InFlight;
use crate::statistics::Statistics;
use crate::switch::Switch;

/// A switch that threads share.
pub struct SharedSwitch {
    /// One for each pipeline. The first one also has what concerns the whole switch.
    parts: Vec<Part>,
    in_flight: Arc<InFlight>,
}

/// A part with one pipeline. It is aligned to two cache lines, which processors load together.
#[repr(align(128))]
struct Part(Mutex<Switch>);

impl Part {
    fn lock(&self) -> MutexGuard<'_, Switch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Switch>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// The whole switch; all pipelines are locked.
///
/// It may be replaced by a switch with the same number of pipelines. All later frames are then
/// processed by that one.
pub struct SwitchGuard<'a> {
    in_flight: &'a Arc<InFlight>,
    whole: MutexGuard<'a, Switch>,
    /// The parts of the other pipelines, in order.
    parts: Vec<MutexGuard<'a, Switch>>,
}

impl SharedSwitch {
    /// Divides a switch into its pipelines.
    pub fn new(switch: Switch) -> Self {
        let parts: Vec<Switch> = (1..switch.pipelines()).map(|_| switch.part()).collect();
        let parts = std::iter::once(switch).chain(parts).map(|part| Part(Mutex::new(part)));
        let parts: Vec<Part> = parts.collect();
        let in_flight = Arc::new(InFlight::new(parts.len()));
        let shared = Self { parts, in_flight };
        // The end of the first lock divides the switch.
        let mut parts = shared.parts.iter().map(Part::lock);
        if let Some(whole) = parts.next() {
            drop(SwitchGuard { in_flight: &shared.in_flight, whole, parts: parts.collect() });
        }
        shared
    }

    /// Number of pipelines.
    pub fn pipelines(&self) -> usize {
        self.parts.len()
    }

    /// Locks all pipelines.
    pub fn lock(&self) -> SwitchGuard<'_> {
        SwitchGuard::new(&self.in_flight, self.parts.iter().map(Part::lock))
    }

    /// Locks all pipelines, if no thread has locked one.
    pub fn try_lock(&self) -> Option<SwitchGuard<'_>> {
        let guards: Option<Vec<_>> = self.parts.iter().map(Part::try_lock).collect();
        guards.map(|guards| SwitchGuard::new(&self.in_flight, guards.into_iter()))
    }

    /// Locks one pipeline: a switch that has only this one of its pipelines.
    pub fn lock_pipeline(&self, pipeline: usize) -> MutexGuard<'_, Switch> {
        self.parts[pipeline].lock()
    }

    /// The packets between the pipelines.
    pub fn in_flight(&self) -> &Arc<InFlight> {
        &self.in_flight
    }

    /// Waits until all packets have left that passed ingress before the call. A control plane calls
    /// it before it confirms a write, without a lock. It does nothing in a switch with one
    /// pipeline.
    pub fn settle(&self) {
        self.in_flight.settle();
    }

    /// [`Switch::in_pipeline`] while only that pipeline is locked. `work` must not change multicast
    /// groups or clone sessions.
    ///
    /// # Errors
    ///
    /// As [`Switch::in_pipeline`].
    pub fn in_pipeline<T>(
        &self,
        pipeline: usize,
        work: impl FnOnce(&mut Switch) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        // Any part refuses a pipeline that does not exist.
        let part = if pipeline < self.parts.len() { pipeline } else { 0 };
        self.lock_pipeline(part).in_pipeline(pipeline, work)
    }
}

impl<'a> SwitchGuard<'a> {
    /// Joins the parts, which are given in order.
    fn new(
        in_flight: &'a Arc<InFlight>,
        mut parts: impl Iterator<Item = MutexGuard<'a, Switch>>,
    ) -> Self {
        let whole = parts.next().expect("a switch has at least one pipeline");
        let mut guard = Self { in_flight, whole, parts: parts.collect() };
        if !guard.parts.is_empty() {
            guard.whole.crossing = None;
            for part in &mut guard.parts {
                guard.whole.absorb(part);
            }
            guard.whole.update_executor_statistics();
        }
        guard
    }
}

impl Deref for SwitchGuard<'_> {
    type Target = Switch;

    #[inline]
    fn deref(&self) -> &Switch {
        &self.whole
    }
}

impl DerefMut for SwitchGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Switch {
        &mut self.whole
    }
}

impl Drop for SwitchGuard<'_> {
    fn drop(&mut self) {
        assert_eq!(
            self.whole.pipelines(),
            self.parts.len() + 1,
            "a shared switch cannot be replaced by one with another number of pipelines"
        );
        if self.parts.is_empty() {
            return;
        }
        for (at, part) in self.parts.iter_mut().enumerate().rev() {
            self.whole.divide(part, || Crossing::new(self.in_flight, at + 1));
        }
        self.whole.crossing = Some(Crossing::new(self.in_flight, 0));
        self.whole.update_executor_statistics();
    }
}

impl Switch {
    /// A switch with the program of this one and all else that its pipelines share, and without
    /// pipelines.
    fn part(&self) -> Self {
        Self {
            id: self.id,
            program: Arc::clone(&self.program),
            standard: self.standard.clone(),
            interpreter: Arc::clone(&self.interpreter),
            pipelines: self.pipelines.none(),
            selected_pipeline: None,
            replication: Arc::clone(&self.replication),
            digests: DigestQueue::default(),
            statistics: Statistics::default(),
            now_ns: self.now_ns,
            header_words: self.header_words.clone(),
            to_ingress: Default::default(),
            to_egress: Default::default(),
            pool: Vec::new(),
            spare_replicas: Vec::new(),
            crossing: None,
            stops_at_assertions: self.stops_at_assertions,
        }
    }

    /// Gives the last pipeline to a part without pipelines, which may be that of another program.
    fn divide(&mut self, part: &mut Self, crossing: impl FnOnce() -> Crossing) {
        if part.id == self.id {
            part.now_ns = self.now_ns;
            if !Arc::ptr_eq(&part.replication, &self.replication) {
                part.replication = Arc::clone(&self.replication);
            }
        } else {
            *part = self.part();
        }
        part.crossing.get_or_insert_with(crossing);
        self.pipelines.move_last(&mut part.pipelines);
        part.update_executor_statistics();
    }

    /// Takes the pipeline of a part, and the part's digests and counts.
    fn absorb(&mut self, part: &mut Self) {
        self.pipelines.put_back(&mut part.pipelines);
        self.statistics.take(&mut part.statistics);
        let dropped = self.digests.take_all(&mut part.digests) as u64;
        self.statistics.digests -= dropped;
        self.statistics.digests_dropped += dropped;
        self.now_ns = self.now_ns.max(part.now_ns);
    }
}
