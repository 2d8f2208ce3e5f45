//! Load generator: many clients of the key-value store in one state machine.
//!
//! Rules
//! -----
//! 1. Replies are matched by (client, request number), never by key. A request that is sent again
//!    keeps its number; a write keeps its value, which names the client and the number.
//! 2. A client never uses a request number [`WINDOW`](crate::WINDOW) above its oldest request
//!    under way: a server takes what is older than its window for a late copy. If all clients
//!    are at that limit, operations wait.
//! 3. An operation that is not over at its deadline is given up and counted as lost. If it was a
//!    write, it may still take effect.
//! 4. Latency counts from the moment at which the operation was to start (open loop: its Poisson
//!    arrival), so that waiting is not left out (no coordinated omission).
//! 5. Every operation is recorded and every read is judged by the
//!    [`Checker`](netkv_checker::Checker), whether the history of its key can still be linearized;
//!    a final verification reads every written key back.
//!
//! Where it lives: this module has the load, `requests` rules 1 and 3, `senders` rule 2,
//! `verify` rule 5.

mod requests;
mod senders;
mod verify;

use std::collections::VecDeque;

use netkv_checker::{Checker, Summary, Violation};
use netkv_workload::{Arrivals, Operation, Workload, exponential_gap};
use rustc_hash::FxHashMap;

use crate::mutation::Mutated;
use crate::timers::Timers;
use crate::{Actions, Backoff, ClientStats, LONGEST_DEADLINE, MILLISECOND, Nanos, SECOND};
use requests::Request;
use senders::Senders;
use verify::Verification;
pub use verify::VerifyReport;

/// What a client process is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientConfig {
    /// Id of the first client that it emulates, from 1.
    pub first_client: u16,
    /// How many clients it emulates (at least 1).
    pub clients: u16,
    /// First request number of each; see [`crate::first_request`].
    pub first_request: u32,
    /// When operations start.
    pub arrivals: Arrivals,
    /// Retries of requests.
    pub retry: Backoff,
    /// Time after which an operation is given up.
    pub deadline: Nanos,
    /// Most operations under way in open loop; more wait, and their latency counts.
    pub max_outstanding: usize,
    /// Most operations that wait in open loop; more are not started and counted as unsent.
    pub max_waiting: usize,
    /// Whether reads are judged.
    pub check: bool,
    /// Whether other processes write the same keys; then values of clients that this process
    /// does not emulate pass, and only the order of its own writes is judged.
    pub other_writers: bool,
}

impl ClientConfig {
    /// Clients 1 to `clients` with the usual settings.
    pub const fn new(clients: u16, arrivals: Arrivals) -> Self {
        Self {
            first_client: 1,
            clients,
            first_request: 1,
            arrivals,
            retry: Backoff { initial: 50 * MILLISECOND, cap: 500 * MILLISECOND },
            deadline: 5 * SECOND,
            max_outstanding: 8192,
            max_waiting: 65_536,
            check: true,
            other_writers: false,
        }
    }
}

/// What the client does at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Starts operations.
    Running,
    /// Starts none; those under way end.
    Paused,
    /// Reads back what was written.
    Verifying,
}

/// Many clients in one state machine. See the head comment for its rules.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    workload: Workload,
    arrivals: Arrivals,
    phase: Phase,
    /// When the next operation arrives (open loop).
    next_arrival: Nanos,
    /// Intended starts of operations that wait (open loop).
    waiting: VecDeque<Nanos>,
    requests: Vec<Option<Request>>,
    free: Vec<u32>,
    outstanding: usize,
    by_number: FxHashMap<(u16, u32), u32>,
    senders: Senders,
    timers: Timers<(u16, u32)>,
    checker: Checker,
    verification: Option<Verification>,
    stats: ClientStats,
    value: Vec<u8>,
    pub(crate) mutated: Mutated,
}

impl Client {
    /// A client that does nothing until [`Client::start`].
    ///
    /// # Errors
    ///
    /// A sentence, if there are no clients or more than there are ids.
    pub fn new(config: ClientConfig, workload: Workload) -> Result<Self, String> {
        let last = u32::from(config.first_client) + u32::from(config.clients);
        if config.first_client == 0 || config.clients == 0 || last > 0x8000 {
            return Err(format!(
                "{} clients from number {} on are not possible; client numbers are 1 to 32767",
                config.clients, config.first_client
            ));
        }
        if config.deadline > LONGEST_DEADLINE {
            return Err(format!(
                "a deadline of {} s is too long; with more than {} s, a server could have \
                 forgotten the request that is sent again",
                config.deadline / SECOND,
                LONGEST_DEADLINE / SECOND
            ));
        }
        Ok(Self {
            arrivals: config.arrivals,
            workload,
            phase: Phase::Paused,
            next_arrival: Nanos::MAX,
            waiting: VecDeque::new(),
            requests: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            by_number: FxHashMap::default(),
            senders: Senders::new(config.first_client, config.clients, config.first_request),
            timers: Timers::new(),
            checker: Checker::new(),
            verification: None,
            stats: ClientStats::default(),
            value: Vec::new(),
            mutated: Mutated::default(),
            config,
        })
    }

    /// Starts or goes on with the load.
    pub fn start(&mut self, now: Nanos, out: &mut Actions) {
        self.phase = Phase::Running;
        self.verification = None;
        self.set_arrivals(now, self.arrivals, out);
    }

    /// Starts no more operations; those under way end. See [`Client::outstanding`].
    pub fn pause(&mut self) {
        self.phase = Phase::Paused;
        self.next_arrival = Nanos::MAX;
        self.waiting.clear();
    }

    /// Changes when operations start: another rate, or another number outstanding.
    pub fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions) {
        self.arrivals = arrivals;
        self.next_arrival = Nanos::MAX;
        if let (Phase::Running, Arrivals::Poisson { rate }) = (self.phase, arrivals) {
            let gap = exponential_gap(self.workload.random(), rate);
            self.next_arrival = now.saturating_add(gap);
        }
        if matches!(arrivals, Arrivals::Closed { .. }) {
            self.waiting.clear();
        }
        self.fill(now, out);
    }

    /// Does what is due at `now`: arrivals, retries, deadlines. Calling it early does nothing.
    pub fn poll(&mut self, now: Nanos, out: &mut Actions) {
        while let Some((at, number)) = self.timers.take(now) {
            self.on_timer(now, at, number, out);
        }
        while self.next_arrival <= now {
            let arrival = self.next_arrival;
            if self.waiting.len() < self.config.max_waiting {
                self.waiting.push_back(arrival);
            } else {
                self.stats.counts.unsent += 1;
            }
            let rate = match self.arrivals {
                Arrivals::Poisson { rate } => rate,
                Arrivals::Closed { .. } => 0.0,
            };
            let gap = exponential_gap(self.workload.random(), rate);
            self.next_arrival = arrival.saturating_add(gap);
        }
        self.fill(now, out);
    }

    /// When to call [`Client::poll`], if nothing happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        let arrival = (self.next_arrival != Nanos::MAX).then_some(self.next_arrival);
        [self.timers.next(), arrival].into_iter().flatten().min()
    }

    /// Operations under way.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// The workload: its hottest keys and predicted hit ratios.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The workload, to shift popularity.
    pub fn workload_mut(&mut self) -> &mut Workload {
        &mut self.workload
    }

    /// What was counted since the last [`Client::take_stats`].
    pub fn stats(&self) -> &ClientStats {
        &self.stats
    }

    /// Moves what was counted since the last call into `into` (whose content is lost).
    pub fn take_stats(&mut self, into: &mut ClientStats) {
        std::mem::swap(&mut self.stats, into);
        self.stats.clear();
    }

    /// What the checker thinks of everything so far; `None` if reads are not judged.
    pub fn history(&self) -> Option<Summary> {
        self.config.check.then(|| self.checker.summary())
    }

    /// The first violations of linearizability, with what proves them. Times are those of the
    /// driver.
    pub fn violations(&self) -> Vec<Violation> {
        self.checker.violations()
    }

    /// Starts as many operations as may run now.
    fn fill(&mut self, now: Nanos, out: &mut Actions) {
        match (self.phase, self.arrivals) {
            (Phase::Running, Arrivals::Closed { outstanding }) => {
                while self.outstanding < outstanding as usize && self.senders.has_room() {
                    let operation = self.workload.draw();
                    self.begin(now, now, operation, out);
                }
            }
            (Phase::Running, Arrivals::Poisson { .. }) => self.start_waiting(now, out),
            (Phase::Verifying, _) => self.verify_more(now, out),
            (Phase::Paused, _) => {}
        }
    }

    fn start_waiting(&mut self, now: Nanos, out: &mut Actions) {
        while let Some(&intended) = self.waiting.front() {
            if intended + self.config.deadline <= now {
                self.waiting.pop_front();
                self.stats.counts.lost += 1;
                continue;
            }
            if self.outstanding >= self.config.max_outstanding || !self.senders.has_room() {
                return;
            }
            self.waiting.pop_front();
            let operation = self.workload.draw();
            self.begin(now, intended, operation, out);
        }
    }

    fn begin(&mut self, now: Nanos, intended: Nanos, operation: Operation, out: &mut Actions) {
        let exists = operation.id < self.workload.config().keys;
        let request = Request::new(operation, exists, intended, intended + self.config.deadline);
        self.start_request(now, request, out);
    }
}
