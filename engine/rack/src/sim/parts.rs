//! The parts of a rack ([`Division`]), and how far each of them is.
//!
//! Rules
//! -----
//! 1. A part may advance to a time if no other part can send it anything before that: one that is
//!    at `t` sends nothing that arrives before `t` plus the shortest delay of their links. The
//!    switches announce frames to the clients when they send them, so the clients are never ahead
//!    of a group of switches.
//! 2. What a part has sent is delivered before another one advances because of it.
//! 3. No group goes beyond the next message of a control channel. The clients have nothing to do
//!    with it: they may be behind when it arrives, and are simulated while a controller decides.
//! 4. Whoever asks a part for anything, or changes it, does so when it has handled all events until
//!    now ([`Parts::catch_up`]).

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Instant;

use netkv_dataplane::SharedSwitch;
use netkv_roles::Nanos;

use super::across::Outbox;
use super::division::Division;
use super::engines::Engines;
use super::pace::Pace;
use super::part::Part;
use super::worker::{Job, Worker, wait};

/// With several threads, their use is considered again after so many events in turns, or in
/// threads.
const EVENTS_IN_TURNS: u64 = 20_000;
const EVENTS_IN_THREADS: u64 = 100_000;

pub(super) struct Parts {
    division: Arc<Division>,
    engines: Arc<[Arc<SharedSwitch>]>,
    /// `None` while a worker has it.
    parts: Vec<Option<Box<Part>>>,
    /// For each part: it has handled all events before this time, and the others have what it sent.
    done: Vec<Nanos>,
    /// Frames from one part (first index) to another that a worker has.
    mail: Vec<Outbox>,
    workers: Vec<Worker>,
    /// Maximum number of threads.
    threads: usize,
    /// Whether they are used even if they do not save time.
    always_threads: bool,
    pace: Pace,
    /// Events since the last note of the pace.
    events: u64,
}

impl Parts {
    /// All of them at time 0.
    pub(super) fn new(
        parts: Vec<Part>,
        division: Division,
        engines: Arc<[Arc<SharedSwitch>]>,
    ) -> Self {
        let count = parts.len();
        Self {
            division: Arc::new(division),
            engines,
            parts: parts.into_iter().map(|part| Some(Box::new(part))).collect(),
            done: vec![0; count],
            mail: (0..count * count).map(|_| Outbox::default()).collect(),
            workers: Vec::new(),
            threads: 1,
            always_threads: false,
            pace: Pace::default(),
            events: 0,
        }
    }

    pub(super) fn division(&self) -> &Division {
        &self.division
    }

    pub(super) fn use_threads(&mut self, threads: usize, always: bool) {
        // No part needs more than one.
        self.threads = threads.clamp(1, self.parts.len());
        self.always_threads = always;
    }

    /// A part that no worker has. Workers have parts of switches only during
    /// [`Parts::advance`], and the part of the clients until [`Parts::catch_up`].
    pub(super) fn get(&mut self, number: usize) -> &mut Part {
        here(&mut self.parts[number])
    }

    /// The groups of switches.
    pub(super) fn groups_mut(&mut self) -> impl Iterator<Item = &mut Part> + '_ {
        let groups = self.groups();
        self.parts[groups].iter_mut().map(here)
    }

    /// All parts, after [`Parts::catch_up`].
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Part> + '_ {
        self.parts.iter_mut().map(here)
    }

    /// The same for reading.
    pub(super) fn each(&self) -> impl Iterator<Item = &Part> + Clone {
        self.parts.iter().flatten().map(|part| &**part)
    }

    /// The groups of switches; with one part, that one.
    fn groups(&self) -> std::ops::Range<usize> {
        0..self.division.of_clients().max(1)
    }

    /// How far all groups are.
    fn reached(&self) -> Nanos {
        self.groups().map(|group| self.done[group]).min().unwrap_or(0)
    }

    /// When the next message of a control channel arrives.
    pub(super) fn control_due(&self) -> Nanos {
        let groups = self.parts[self.groups()].iter().flatten();
        groups.map(|part| part.controls.due()).min().unwrap_or(Nanos::MAX)
    }

    /// Sets the time of all groups.
    pub(super) fn set_time(&mut self, now: Nanos) {
        self.groups_mut().for_each(|part| part.timeline.now = now);
    }

    /// Delivers what a part has sent since it last advanced.
    pub(super) fn deliver(&mut self, from: usize) {
        let count = self.parts.len();
        for to in 0..count {
            let outbox = &mut here(&mut self.parts[from]).network.outboxes[to];
            if outbox.is_empty() {
                continue;
            }
            let mut outbox = std::mem::take(outbox);
            match &mut self.parts[to] {
                Some(part) => part.receive_from(from, &mut outbox),
                None => self.mail[from * count + to].append(&mut outbox),
            }
            here(&mut self.parts[from]).network.outboxes[to] = outbox;
        }
    }

    /// Advances all groups of switches up to `end`, or up to the next message of a control channel.
    /// The clients may be behind. Returns how far the groups are: less if it should be called
    /// again.
    ///
    /// # Errors
    ///
    /// A sentence, if the workload cannot continue as configured, or a role has failed.
    pub(super) fn advance<'a>(
        &mut self,
        end: Nanos,
        engines: &'a [Arc<SharedSwitch>],
        locked: &mut Option<Engines<'a>>,
    ) -> Result<Nanos, String> {
        let began = self.reached();
        let (step, start) = (self.step(), Instant::now());
        let threads = self.threads > 1 && (self.always_threads || self.pace.chooses_threads(step));
        let reached = if threads {
            *locked = None;
            self.in_threads(end)?
        } else {
            self.catch_up()?;
            self.in_turns(end, lock_all(locked, engines, &self.division))?
        };
        let events = std::mem::take(&mut self.events);
        self.pace.note(events, reached.saturating_sub(began));
        self.pace.compare(threads, events, start.elapsed());
        Ok(reached)
    }

    /// Waits until no worker has a part.
    ///
    /// # Errors
    ///
    /// As [`Parts::advance`].
    pub(super) fn rest(&mut self) -> Result<(), String> {
        while self.parts.iter().any(Option::is_none) {
            self.collect_one()?;
        }
        Ok(())
    }

    /// Advances the clients as far as the groups are.
    ///
    /// # Errors
    ///
    /// As [`Parts::advance`].
    pub(super) fn catch_up(&mut self) -> Result<(), String> {
        self.rest()?;
        let clients = self.division.of_clients();
        let until = self.reached();
        if self.done[clients] < until {
            // If there are several parts, that of the clients has no switch.
            self.advance_part(clients, until, &mut Engines::none())?;
        }
        Ok(())
    }

    /// Advances one part after the other, all of which are at the same time.
    fn in_turns(&mut self, end: Nanos, engines: &mut Engines<'_>) -> Result<Nanos, String> {
        let Division { from_clients, between_switches, .. } = *self.division;
        let stride = self.pace.stride(from_clients.min(between_switches));
        let mut end = end;
        while let Some(next) = self.all().filter_map(|part| part.next(end)).min() {
            let mut until = next.saturating_add(stride).min(end);
            for number in 0..self.parts.len() {
                self.advance_part(number, until, engines)?;
                until = until.min(self.get(number).controls.due());
            }
            end = end.min(self.control_due());
            if self.threads > 1 && self.events > EVENTS_IN_TURNS {
                end = until;
            }
        }
        self.done.fill(end);
        Ok(end)
    }

    /// Advances a part, and delivers what it sends.
    fn advance_part(
        &mut self,
        number: usize,
        until: Nanos,
        engines: &mut Engines<'_>,
    ) -> Result<(), String> {
        let part = here(&mut self.parts[number]);
        let before = part.events;
        part.advance(until, engines)?;
        self.events += part.events - before;
        self.done[number] = until.min(part.controls.due());
        self.deliver(number);
        Ok(())
    }

    /// How far a part advances at a time in threads: while the clients handle a step, the switches
    /// handle the next one.
    fn step(&self) -> Nanos {
        self.division.from_clients / 2
    }

    /// Advances parts at the same time, each as far as it may.
    fn in_threads(&mut self, end: Nanos) -> Result<Nanos, String> {
        while self.workers.len() + 1 < self.threads {
            let (division, engines) = (Arc::clone(&self.division), Arc::clone(&self.engines));
            match Worker::start(division, engines) {
                Ok(worker) => self.workers.push(worker),
                // It takes longer with fewer threads.
                Err(_) => self.threads = self.workers.len() + 1,
            }
        }
        let (division, engines) = (Arc::clone(&self.division), Arc::clone(&self.engines));
        let stride = self.pace.stride(self.step());
        let least_job = if self.always_threads { 0 } else { self.pace.least_job() };
        let mut end = end;
        loop {
            self.collect()?;
            // The time of a message stays in force while a worker has the group that it is for.
            end = end.min(self.control_due());
            if self.events > EVENTS_IN_THREADS {
                let most = self.groups().map(|group| self.done[group]).max();
                end = end.min(most.unwrap_or(end));
            }
            if self.groups().all(|group| self.done[group] >= end) {
                return Ok(end);
            }
            let mut progress = false;
            let mut own = None;
            // The clients first: this thread does what is left, above all the groups, which
            // messages of controllers wait for.
            for number in (0..self.parts.len()).rev() {
                let until = self.may_advance_to(number, stride, end);
                let Some(part) = &mut self.parts[number] else { continue };
                if until <= self.done[number] {
                    continue;
                }
                if part.next(until).is_none() {
                    self.done[number] = until;
                    progress = true;
                    continue;
                }
                let job_is_long = until - self.done[number] >= least_job;
                let idle = self.workers.iter_mut().find(|worker| worker.is_idle());
                match idle {
                    Some(worker) if number > 0 && job_is_long => {
                        if let Some(part) = self.parts[number].take() {
                            let events = part.events;
                            worker.begin(Job { number, part, until, events });
                        }
                        progress = true;
                    }
                    _ => own = Some((number, until)),
                }
            }
            if let Some((number, until)) = own {
                let mut locked = Engines::lock(&engines, &division, |part| part == number);
                self.advance_part(number, until, &mut locked)?;
            } else if !progress {
                self.collect_one()?;
            }
        }
    }

    /// How far a part may advance now (rule 1), at most `stride`.
    fn may_advance_to(&self, number: usize, stride: Nanos, end: Nanos) -> Nanos {
        let clients = self.division.of_clients();
        let others = self.groups().filter(|group| *group != number).map(|group| self.done[group]);
        let others = others.min().unwrap_or(Nanos::MAX);
        if number == clients {
            return others;
        }
        let by_clients = self.done[clients].saturating_add(self.division.from_clients);
        let by_groups = others.saturating_add(self.division.between_switches);
        self.done[number].saturating_add(stride).min(by_clients).min(by_groups).min(end)
    }

    /// Takes the parts whose workers are done.
    ///
    /// # Panics
    ///
    /// If a worker has panicked. It has no part then.
    fn collect(&mut self) -> Result<(), String> {
        for at in 0..self.workers.len() {
            let Some((job, outcome)) = self.workers[at].finished() else { continue };
            let Job { number, mut part, until, events } = job;
            for from in 0..self.parts.len() {
                let mail = &mut self.mail[from * self.parts.len() + number];
                if !mail.is_empty() {
                    part.receive_from(from, mail);
                }
            }
            self.done[number] = until.min(part.controls.due());
            self.events += part.events - events;
            self.parts[number] = Some(part);
            outcome.unwrap_or_else(|panic| resume_unwind(panic))?;
            self.deliver(number);
        }
        Ok(())
    }

    /// Waits until a worker is done, if one has a part, and takes it.
    fn collect_one(&mut self) -> Result<(), String> {
        let workers = &self.workers;
        wait(|| workers.iter().any(Worker::is_done) || workers.iter().all(Worker::is_idle));
        self.collect()
    }
}

/// A part that no worker has.
fn here(part: &mut Option<Box<Part>>) -> &mut Part {
    match part {
        Some(part) => part,
        None => unreachable!("a part is asked only when its worker is done"),
    }
}

/// Locks the programs of all switches, if they are not.
pub(super) fn lock_all<'a, 'b>(
    locked: &'b mut Option<Engines<'a>>,
    all: &'a [Arc<SharedSwitch>],
    division: &Division,
) -> &'b mut Engines<'a> {
    locked.get_or_insert_with(|| Engines::lock(all, division, |_| true))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::config::tests::rack;
    use super::super::config::{End, LinkConfig};
    use super::super::event::{Event, MAX_LINKS};
    use super::super::frames::FrameId;
    use super::super::link::LinkModel;
    use super::*;

    #[test]
    fn a_panic_in_a_thread_is_that_of_the_caller_and_leaves_no_part_there() {
        let mut config = rack(1, 1);
        let model = LinkModel { bandwidth_bps: 1e10, delay_s: 2e-6, queue_bytes: 10_000 };
        for (port, end) in [(0, End::Client(1)), (1, End::Server(0))] {
            let kind = String::new();
            config.links.push(LinkConfig { a: end, b: End::Switch(0, port), model, kind });
        }
        let division = Division::new(&config);
        let clients = division.of_clients();
        let part = |number| Part::new(&config, &division, number).unwrap();
        let mut parts = Parts::new((0..2).map(part).collect(), division, Arc::new([]));
        parts.use_threads(2, true);
        // There is no such link.
        let event = Event::Arrive { link: MAX_LINKS as u32 - 1, frame: FrameId::from_bits(0) };
        parts.get(clients).timeline.queue.push(10, event);
        let advance = AssertUnwindSafe(|| parts.advance(1_000_000, &[], &mut None));
        assert!(catch_unwind(advance).is_err());
        assert_eq!(parts.rest(), Ok(()), "returns at once");
        assert_eq!(parts.each().count(), 2);
    }
}
