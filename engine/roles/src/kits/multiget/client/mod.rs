//! Load generator and client of multigets: many clients in one state machine.
//!
//! Rules
//! -----
//! 1. An operation is one multiget, or a write. Its [`Architecture`] divides the keys among
//!    requests. A key that an operation names several times is requested once, and its value is
//!    returned at each position.
//! 2. Each request has a number of its own. Replies are matched by client and number. An entry of a
//!    reply is accepted only if the request has its key at that position. A request is complete
//!    when each of its keys has been answered (a bitmap, not a counter), even if replies are
//!    duplicated, late or reordered. An operation is complete when all its requests are; it never
//!    ends in part.
//! 3. Unanswered keys are requested again under the same number ([`Architecture::send_missing`]).
//! 4. At its deadline an operation is given up as a whole and counted as lost, and the servers that
//!    have not answered are reported. A write may still take effect.
//! 5. A client never uses a number `window` above its oldest one under way: servers take older
//!    numbers for late copies. If all clients are at that limit, operations wait.
//! 6. Latency is measured from the intended start of the operation.
//! 7. Every operation of the load is recorded, and each key of a multiget is judged as a read by
//!    the [`Checker`](netkv_checker::Checker); a final verification reads every written key back.
//!    Operations of users beside the load are not judged, since their values are arbitrary. Their
//!    frames are counted, their operations and latency are not.
//!
//! Modules: `operation` has rule 1, `replies` rule 2, `requests` rules 3 and 4, and
//! `crate::common::load` rules 5 to 7; `submission` the operations of users.

mod architecture;
mod config;
pub(crate) mod operation;
mod replies;
mod requests;
mod state;
mod submission;
mod users;
mod verify;
mod writer;

use netkv_checker::{Summary, Violation};
use netkv_workload::{Arrivals, OpKind, Workload};
use rustc_hash::FxHashMap;

use crate::common::load::{Judge, Load, Phase, Senders, Verification};
use crate::common::slots::Slots;
use crate::common::timers::{Timeouts, Timers};
use crate::kits::multiget::layout::Layout;
use crate::options::ClientOptions;
use crate::{Actions, ClientStats, Completion, Nanos, UserOp, VerifyReport, WINDOW};
pub use architecture::Architecture;
pub use config::ClientConfig;
use config::MAX_REQUESTS;
pub(crate) use operation::{Operation, Part};
pub use state::{Client, MultigetCounts};
use users::Users;
pub(crate) use writer::RequestWriter;

/// Clients of this architecture.
pub(crate) fn client(
    architecture: &'static dyn Architecture,
    options: &ClientOptions,
    workload: Workload,
) -> Result<Box<dyn crate::Client>, String> {
    let layout = Layout::of(options.keyspace);
    let load = crate::ClientConfig { window: WINDOW, ..options.load };
    let config = ClientConfig { load, architecture, layout };
    Ok(Box::new(Client::new(config, workload)?))
}

impl Client {
    /// A client that starts no operation until [`crate::Client::start`].
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn new(config: ClientConfig, workload: Workload) -> Result<Self, String> {
        config.check()?;
        if workload.config().key_size != config.layout.key_size {
            return Err(format!(
                "the workload has keys of {} bytes, but the rack has keys of {}",
                workload.config().key_size,
                config.layout.key_size
            ));
        }
        Ok(Self {
            workload,
            load: Load::new(&config.load),
            operations: Slots::default(),
            spare: Vec::new(),
            by_number: FxHashMap::default(),
            senders: Senders::new(&config.load, MAX_REQUESTS),
            timers: Timers::new(),
            timeouts: Timeouts::new(config.load.retry),
            judge: Judge::new(&config.load),
            verification: None,
            stats: ClientStats::default(),
            counts: MultigetCounts::default(),
            last_missing: Vec::new(),
            users: Users::default(),
            ids: Vec::new(),
            value: Vec::new(),
            config,
        })
    }

    /// Counts of multigets, since they were last taken.
    pub fn multiget_counts(&self) -> &MultigetCounts {
        &self.counts
    }

    /// The servers that had not answered when an operation was last given up, in order.
    pub fn last_missing(&self) -> &[u16] {
        &self.last_missing
    }

    /// Starts as many operations as may run now, those of users first.
    fn fill(&mut self, now: Nanos, out: &mut Actions) {
        self.start_submitted(now, out);
        if self.load.phase == Phase::Verifying {
            self.verify_more(now, out);
        }
        loop {
            let has_room = || self.senders.has_room();
            let (under_way, counts) = (self.operations.len(), &mut self.stats.counts);
            let Some(intended) = self.load.next(now, under_way, has_room, counts) else {
                return;
            };
            let operation = self.draw(intended);
            self.start_operation(now, operation, out);
        }
    }

    /// The next operation of the load.
    fn draw(&mut self, intended: Nanos) -> Operation {
        let mut operation = self.take_spare();
        let mut ids = std::mem::take(&mut self.ids);
        let drawn = self.workload.draw_keys(&mut ids);
        operation.begin(drawn.kind, intended, intended + self.config.load.deadline);
        (operation.id, operation.size) = (drawn.id, drawn.size.into());
        let keys = self.workload.config().keys;
        ids.iter().for_each(|id| operation.add_id(*id, keys, &self.config.layout));
        if drawn.kind == OpKind::Read {
            self.choose_read(&mut operation);
        }
        self.ids = ids;
        operation
    }

    fn take_spare(&mut self) -> Operation {
        self.spare.pop().unwrap_or_else(Operation::new)
    }
}

impl crate::Client for Client {
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        self.take_frame(now, bytes, out);
    }

    fn poll(&mut self, now: Nanos, out: &mut Actions) {
        while let Some((at, slot)) = self.timers.take(now) {
            self.on_timer(now, at, slot, out);
        }
        self.load.arrive(now, self.workload.random(), &mut self.stats.counts);
        self.fill(now, out);
    }

    fn deadline(&self) -> Option<Nanos> {
        let timer = self.timers.next().unwrap_or(Nanos::MAX);
        let due = [timer, self.load.due(), self.users.due()];
        due.into_iter().min().filter(|due| *due != Nanos::MAX)
    }

    fn start(&mut self, now: Nanos, out: &mut Actions) {
        self.verification = None;
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
        self.operations.len()
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
        into.own.extend(std::mem::take(&mut self.counts).list());
    }

    fn crash(&mut self, now: Nanos, out: &mut Actions) {
        for slot in self.operations.numbers() {
            self.give_up(slot);
        }
        self.poll(now, out);
    }

    fn leave(&mut self, now: Nanos, out: &mut Actions) {
        self.pause();
        self.poll(now, out);
    }

    fn verify(&mut self, now: Nanos, out: &mut Actions) {
        self.pause();
        self.load.phase = Phase::Verifying;
        self.verification = Some(Verification::default());
        self.fill(now, out);
    }

    fn verified(&self) -> Option<VerifyReport> {
        self.verification.as_ref()?.report(self.operations.len())
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
