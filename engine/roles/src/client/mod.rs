//! Load generator: many clients of the key-value store in one state machine.
//!
//! Rules
//! -----
//! 1. Replies are matched by (client, request number), never by key. A request that is sent again
//!    keeps its number; a write keeps its value, which names the client and the number. The answer
//!    to any copy ends it. Retries back off, and the first wait follows the time that answers take.
//! 2. A client never uses a request number `window` above its oldest request under way: servers,
//!    and a switch that writes back, take what is older for a late copy. If all clients are at
//!    that limit, operations wait.
//! 3. An operation that is not over at its deadline is given up and counted as lost. If it was a
//!    write, it may still take effect.
//! 4. Latency counts from the moment at which the operation was to start (open loop: its Poisson
//!    arrival), so that waiting is not left out (no coordinated omission).
//! 5. For a write-back cache, each request is stamped with the life of the switch that was known
//!    when it was first sent, and what only the switch has is kept (`docs/farreach.md`, "Client").
//! 6. Every operation is recorded and every read is judged by the
//!    [`Checker`](netkv_checker::Checker), whether the history of its key can still be linearized;
//!    a final verification reads every written key back.
//!
//! Where it lives: `crate::load` has rules 2 and 4 and when operations start, `requests` rules 1 and
//! 3, `write_back` rule 5 (`preserved` what is kept, `parts` and `frozen` the lists of the controller
//! and for it, `control` what the two say to each other), `reads` and `verify` rule 6.
//! Operations that users hand in beside the load are in `users`.

mod config;
mod control;
mod frozen;
mod parts;
mod preserved;
mod reads;
mod requests;
mod users;
mod verify;
mod write_back;

use netkv_checker::{Summary, Violation};
use netkv_workload::{Arrivals, Operation, Workload};
use rustc_hash::FxHashMap;

use crate::load::{Judge, Load, Phase, Senders, Verification};
use crate::mutation::Mutated;
use crate::timers::{Timeouts, Timers};
use crate::{Actions, ClientStats, Nanos};
pub use config::{ClientConfig, ClientRole};
pub use preserved::Preserved;
use requests::Request;
use users::Users;
use write_back::WriteBack;

/// Many clients in one state machine. See the head comment for its rules.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    workload: Workload,
    load: Load,
    requests: Vec<Option<Request>>,
    free: Vec<u32>,
    outstanding: usize,
    by_number: FxHashMap<(u16, u32), u32>,
    senders: Senders,
    timers: Timers<(u16, u32)>,
    timeouts: Timeouts,
    /// What the scheme needs beside requests and answers, if it needs anything.
    write_back: Option<Box<WriteBack>>,
    judge: Judge,
    verification: Option<Verification>,
    users: Users,
    stats: ClientStats,
    value: Vec<u8>,
    pub(crate) mutated: Mutated,
}

impl Client {
    /// A client that starts no operation until [`Client::start`].
    ///
    /// # Errors
    ///
    /// A sentence, if there are no clients or more than there are ids, or about another setting
    /// that cannot be.
    pub fn new(config: ClientConfig, workload: Workload) -> Result<Self, String> {
        config.check()?;
        let write_back = match config.role {
            ClientRole::Plain => None,
            ClientRole::FarReach => Some(Box::new(WriteBack::new(&config))),
        };
        Ok(Self {
            workload,
            load: Load::new(&config),
            requests: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            by_number: FxHashMap::default(),
            senders: Senders::new(&config, 1),
            timers: Timers::new(),
            timeouts: Timeouts::new(config.retry),
            write_back,
            judge: Judge::new(&config),
            verification: None,
            users: Users::default(),
            stats: ClientStats::default(),
            value: Vec::new(),
            mutated: Mutated::default(),
            config,
        })
    }

    /// Starts or goes on with the load.
    pub fn start(&mut self, now: Nanos, out: &mut Actions) {
        self.verification = None;
        if let Some(write_back) = &mut self.write_back {
            write_back.process.come_back(now);
        }
        self.load.start(now, self.workload.random());
        self.fill(now, out);
    }

    /// Starts no more operations; those under way end. See [`Client::outstanding`].
    pub fn pause(&mut self) {
        self.load.pause();
    }

    /// Changes when operations start: another rate, or another number outstanding.
    pub fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions) {
        self.load.set_arrivals(now, arrivals, self.workload.random());
        self.fill(now, out);
    }

    /// Does what is due at `now`: arrivals, retries, deadlines. Calling it early does nothing.
    pub fn poll(&mut self, now: Nanos, out: &mut Actions) {
        if let Some(write_back) = &mut self.write_back {
            write_back.process.poll(now, out, self.mutated);
        }
        while let Some((at, number)) = self.timers.take(now) {
            self.on_timer(now, at, number, out);
        }
        self.load.arrive(now, self.workload.random(), &mut self.stats.counts);
        self.fill(now, out);
    }

    /// When to call [`Client::poll`], if nothing happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        let process = self.write_back.as_ref().map_or(Nanos::MAX, |it| it.process.due());
        let due = self.timers.next().unwrap_or(Nanos::MAX).min(self.load.due()).min(process);
        let due = due.min(self.users.due());
        (due != Nanos::MAX).then_some(due)
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
        self.stats.counts.preserved = self.preserved().records as u64;
    }

    /// Records that only the switch has, as far as is known, and that are kept therefore.
    pub fn preserved(&self) -> Preserved {
        self.write_back.as_ref().map(|it| it.records.gauge()).unwrap_or_default()
    }

    /// The process dies, and another one begins in its place at once: all that was under way is
    /// given up, what was kept is gone. The load goes on; what was seen and done is still judged.
    pub fn forget_preserved(&mut self, now: Nanos, out: &mut Actions) {
        for slot in 0..self.requests.len() {
            if let Some(request) = self.requests[slot].take() {
                self.give_up(slot as u32, &request);
                self.stats.counts.lost += u64::from(request.is_load());
            }
        }
        if let Some(write_back) = &mut self.write_back {
            write_back.begin_again();
        }
        self.poll(now, out);
    }

    /// Says BYE to the controller, if the scheme wants that: nobody asks for what is kept from then
    /// on. See [`Client::is_gone`].
    pub fn leave(&mut self, now: Nanos, out: &mut Actions) {
        self.pause();
        if let Some(write_back) = &mut self.write_back {
            write_back.process.leave(now);
        }
        self.poll(now, out);
    }

    /// Whether nothing is left to be said after [`Client::leave`].
    pub fn is_gone(&self) -> bool {
        self.write_back.as_ref().is_none_or(|it| it.process.is_gone())
    }

    /// What the checker thinks of everything so far; `None` if reads are not judged.
    pub fn history(&self) -> Option<Summary> {
        self.judge.history()
    }

    /// The first violations of linearizability, with what proves them. Times are those of the
    /// driver.
    pub fn violations(&self) -> Vec<Violation> {
        self.judge.violations()
    }

    /// Starts as many operations as may run now, those of users first.
    fn fill(&mut self, now: Nanos, out: &mut Actions) {
        self.start_asked(now, out);
        if self.load.phase == Phase::Verifying {
            self.verify_more(now, out);
        }
        loop {
            let has_room = || self.senders.has_room();
            let counts = &mut self.stats.counts;
            let Some(intended) = self.load.next(now, self.outstanding, has_room, counts) else {
                return;
            };
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
