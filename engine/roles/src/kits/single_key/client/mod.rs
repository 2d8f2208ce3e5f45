//! Clients of single keys: a load generator and the operations of users, many clients in one state
//! machine.
//!
//! Rules
//! -----
//! 1. Replies are matched by (client, request number), never by key. A request that is sent again
//!    keeps its number; a write keeps its value, which names the client and the number. The answer
//!    to any copy ends it. Retries back off, and the first wait adapts to the response times.
//! 2. A client never uses a request number `window` above its oldest request under way: servers,
//!    and a write-back switch, take older numbers for late copies. If all clients are at that
//!    limit, operations wait.
//! 3. An operation that has not ended at its deadline is given up and counted as lost. A write may
//!    still take effect.
//! 4. Latency is measured from the intended start of the operation (open loop: its Poisson
//!    arrival), so that it includes waiting (no coordinated omission).
//! 5. Every operation is recorded, and the [`Checker`](netkv_checker::Checker) judges for every
//!    read whether the history of its key is still linearizable; a final verification reads every
//!    written key back.
//!    A conditional write that is refused has not taken effect. If it was sent again, its effect is
//!    unknown: a copy may have taken effect before.
//! 6. A protocol adds in its [`Protocol`]: stamps of requests, which answers are accepted, and
//!    messages to and from the controller.
//!
//! [`crate::common::load`] has rules 2 and 4 and the arrivals, `requests` rules 1 and 3, `reads`
//! and `verify` rule 5. `submission` has the operations that users submit beside the load.

mod protocol;
mod reads;
mod request;
mod requests;
mod state;
mod submission;
mod users;
mod verify;

use std::any::Any;

use netkv_checker::{Summary, Violation};
use netkv_wire::peek_request;
use netkv_workload::{Arrivals, Operation, Workload};

use crate::common::load::{Judge, Load, Phase, Senders, Verification};
use crate::common::timers::{Timeouts, Timers};
use crate::{Actions, ClientConfig, ClientStats, Completion, Counts, Nanos, UserOp, VerifyReport};
pub use protocol::{Protocol, Verdict};
use request::Request;
pub use state::Client;
use users::Users;

impl<P: Protocol> Client<P> {
    /// Clients that start no operation until [`crate::Client::start`].
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn new(config: ClientConfig, workload: Workload) -> Result<Self, String> {
        Self::with(P::new(&config)?, config, workload)
    }

    /// The same with an existing protocol.
    pub(crate) fn with(
        protocol: P,
        config: ClientConfig,
        workload: Workload,
    ) -> Result<Self, String> {
        config.check()?;
        Ok(Self {
            workload,
            load: Load::new(&config),
            requests: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            senders: Senders::new(&config, 1),
            timers: Timers::new(),
            timeouts: Timeouts::new(config.retry),
            protocol,
            judge: Judge::new(&config),
            verification: None,
            users: Users::default(),
            stats: ClientStats::default(),
            value: Vec::new(),
            config,
        })
    }

    /// Starts as many operations as may run now, those of users first.
    fn fill(&mut self, now: Nanos, out: &mut Actions) {
        self.start_submitted(now, out);
        if self.load.phase == Phase::Verifying {
            self.verify_more(now, out);
        }
        loop {
            let has_room = || self.senders.has_room();
            let counts = &mut self.stats.counts;
            let Some(intended) = self.load.next(now, self.outstanding, has_room, counts) else {
                return;
            };
            // Arrivals of an open loop take random numbers between the operations.
            let operation = if self.load.is_closed() {
                self.workload.draw_ahead()
            } else {
                self.workload.draw()
            };
            self.begin(now, intended, operation, out);
        }
    }

    #[inline]
    fn begin(&mut self, now: Nanos, intended: Nanos, operation: Operation, out: &mut Actions) {
        let exists = operation.id < self.workload.config().keys;
        let request = Request::new(operation, exists, intended, intended + self.config.deadline);
        self.start_request(now, request, out);
    }
}

impl<P: Protocol> crate::Client for Client<P> {
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        self.take_frame(now, bytes, out);
    }

    fn state_of(&self, bytes: &[u8]) -> Option<&dyn Any> {
        let (sender, request) = peek_request(bytes)?;
        let slot = self.senders.owner(sender, request)?;
        self.requests.get(slot as usize).map(|request| request as &dyn Any)
    }

    fn poll(&mut self, now: Nanos, out: &mut Actions) {
        self.protocol.poll(now, out);
        while let Some((at, number)) = self.timers.take(now) {
            self.on_timer(now, at, number, out);
        }
        if self.load.due() <= now {
            self.load.arrive(now, self.workload.random(), &mut self.stats.counts);
        }
        self.fill(now, out);
    }

    fn deadline(&self) -> Option<Nanos> {
        let timer = self.timers.next().unwrap_or(Nanos::MAX);
        let due = [timer, self.load.due(), self.protocol.due(), self.users.due()];
        due.into_iter().min().filter(|due| *due != Nanos::MAX)
    }

    fn start(&mut self, now: Nanos, out: &mut Actions) {
        self.verification = None;
        self.protocol.start(now);
        self.load.start(now, self.workload.random(), &mut self.stats.counts);
        self.fill(now, out);
    }

    fn pause(&mut self) {
        self.load.pause(&mut self.stats.counts);
    }

    fn set_arrivals(&mut self, now: Nanos, arrivals: Arrivals, out: &mut Actions) {
        let random = self.workload.random();
        self.load.set_arrivals(now, arrivals, random, &mut self.stats.counts);
        self.fill(now, out);
    }

    fn outstanding(&self) -> usize {
        self.outstanding
    }

    fn workload(&self) -> &Workload {
        &self.workload
    }

    fn workload_mut(&mut self) -> &mut Workload {
        &mut self.workload
    }

    fn stats(&self) -> &ClientStats {
        &self.stats
    }

    fn take_stats(&mut self, into: &mut ClientStats) {
        std::mem::swap(&mut self.stats, into);
        self.stats.clear();
        self.protocol.take_counts(&mut into.own);
    }

    fn add_gauges(&self, into: &mut Counts) {
        self.protocol.add_gauges(into);
    }

    fn crash(&mut self, now: Nanos, out: &mut Actions) {
        for slot in 0..self.requests.len() {
            if let Some(request) = self.requests[slot].take() {
                self.give_up(slot as u32, &request);
                self.stats.counts.lost += u64::from(request.is_load());
            }
        }
        self.protocol.crash();
        self.poll(now, out);
    }

    fn leave(&mut self, now: Nanos, out: &mut Actions) {
        self.pause();
        self.protocol.leave(now);
        self.poll(now, out);
    }

    fn has_left(&self) -> bool {
        self.protocol.has_left()
    }

    fn verify(&mut self, now: Nanos, out: &mut Actions) {
        self.pause();
        self.load.phase = Phase::Verifying;
        self.verification = Some(Verification::default());
        self.verify_more(now, out);
    }

    fn verified(&self) -> Option<VerifyReport> {
        self.verification.as_ref()?.report(self.outstanding)
    }

    fn history(&self) -> Option<Summary> {
        self.judge.history()
    }

    fn violations(&self) -> Vec<Violation> {
        self.judge.violations()
    }

    fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String> {
        self.take_operation(now, token, op, out)
    }

    fn completions(&mut self, into: &mut Vec<Completion>) {
        self.users.completions(into);
    }
}
