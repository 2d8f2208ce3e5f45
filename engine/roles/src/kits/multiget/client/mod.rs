//! Clients of multigets, many in one state machine, over a source of operations: a load, or users.
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
//! 7. Every operation of a load is recorded, and each key of a multiget is judged as a read by the
//!    [`Checker`](netkv_checker::Checker); a final verification reads every written key back.
//!
//! Modules: `operation` has rule 1, `replies` rule 2, `requests` rules 3 and 4,
//! [`crate::common::senders`] rule 5, [`crate::common::load`] rules 6 and 7; `users` the operations
//! of users.

mod architecture;
mod config;
pub(crate) mod operation;
mod replies;
mod requests;
mod users;
mod writer;

use netkv_workload::Workload;
use rustc_hash::FxHashMap;

use crate::common::load::Load;
use crate::common::senders::Senders;
use crate::common::slots::Slots;
use crate::common::source::Source;
use crate::common::stats::counts;
use crate::common::timers::{Timeouts, Timers};
use crate::entries::Made;
use crate::options::ClientOptions;
use crate::{Actions, ClientCounts, Completion, Counts, LoadClient, Nanos, UserClient, UserOp};
pub use architecture::Architecture;
pub use config::ClientConfig;
use config::MAX_REQUESTS;
pub(crate) use operation::{Operation, Part};
pub use users::Users;
pub(crate) use writer::RequestWriter;

counts! {
    /// Counts of clients of multigets only.
    pub struct MultigetCounts {
        /// Keys of answered reads; a repeated key counts each time.
        keys_read,
        /// Requests to servers for the operations started: one for each key group, whether a client
        /// or a switch splits it. If a coordinator splits, the requests to the coordinator.
        groups,
        /// Servers that had not answered when an operation was given up.
        missing_groups,
    }
}

/// Many clients in one state machine. The comment of the module has its rules.
#[derive(Debug)]
pub struct Client<S: Source<Operation> = Load> {
    config: ClientConfig,
    source: S,
    operations: Slots<Operation>,
    spare: Vec<Operation>,
    /// The operation of a request, and the index of the request in it.
    by_number: FxHashMap<(u16, u32), (u32, usize)>,
    senders: Senders,
    timers: Timers<u32>,
    timeouts: Timeouts,
    counts: MultigetCounts,
    last_missing: Vec<u16>,
    /// A buffer that is reused.
    value: Vec<u8>,
}

/// Clients of this architecture with a load.
pub(crate) fn load_client(
    architecture: &'static dyn Architecture,
    options: &ClientOptions,
    workload: Workload,
) -> Made<dyn LoadClient> {
    Ok(Box::new(Client::new(ClientConfig::of(architecture, options), workload)?))
}

/// Clients of this architecture for users.
pub(crate) fn user_client(
    architecture: &'static dyn Architecture,
    options: &ClientOptions,
) -> Made<dyn UserClient> {
    Ok(Box::new(Client::of_users(ClientConfig::of(architecture, options))?))
}

impl Client {
    /// Clients with a load, which start no operation until [`LoadClient::start`].
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn new(config: ClientConfig, workload: Workload) -> Result<Self, String> {
        let (size, wanted) = (workload.config().key_size, config.layout.key_size);
        let client = Self::with(config, Load::new(config.load, workload))?;
        if size == wanted {
            return Ok(client);
        }
        Err(format!("the workload has keys of {size} bytes, but the rack has keys of {wanted}"))
    }
}

impl Client<Users> {
    /// Clients of users.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn of_users(config: ClientConfig) -> Result<Self, String> {
        Self::with(config, Users::new(config.load))
    }
}

impl<S: Source<Operation>> Client<S> {
    fn with(config: ClientConfig, source: S) -> Result<Self, String> {
        config.check()?;
        Ok(Self {
            source,
            operations: Slots::default(),
            spare: Vec::new(),
            by_number: FxHashMap::default(),
            senders: Senders::new(&config.load, MAX_REQUESTS),
            timers: Timers::new(),
            timeouts: Timeouts::new(config.load.retry),
            counts: MultigetCounts::default(),
            last_missing: Vec::new(),
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
}

impl<S: Source<Operation>> crate::Client for Client<S> {
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        self.take_frame(now, bytes, out);
    }

    fn poll(&mut self, now: Nanos, out: &mut Actions) {
        while let Some((at, slot)) = self.timers.take(now) {
            self.on_timer(now, at, slot, out);
        }
        self.source.poll(now);
        self.start_operations(now, out);
    }

    fn deadline(&self) -> Option<Nanos> {
        let due = self.timers.next().unwrap_or(Nanos::MAX).min(self.source.due());
        Some(due).filter(|due| *due != Nanos::MAX)
    }

    fn outstanding(&self) -> usize {
        self.operations.len()
    }

    fn counts(&self) -> &ClientCounts {
        self.source.counts()
    }

    fn take_counts(&mut self, into: &mut Counts) {
        into.extend(std::mem::take(&mut self.counts).list());
    }

    fn crash(&mut self, now: Nanos, out: &mut Actions) {
        for slot in self.operations.numbers() {
            self.give_up(slot);
        }
        self.poll(now, out);
    }

    fn leave(&mut self, now: Nanos, out: &mut Actions) {
        self.source.leave();
        self.poll(now, out);
    }
}

impl LoadClient for Client {
    fn load(&self) -> &Load {
        &self.source
    }

    fn load_mut(&mut self) -> &mut Load {
        &mut self.source
    }

    fn fill(&mut self, now: Nanos, out: &mut Actions) {
        self.start_operations(now, out);
    }
}

impl UserClient for Client<Users> {
    fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String> {
        let spare = || Operation::reused(&mut self.spare);
        self.source.submit(now, token, op, spare, &self.config.layout)?;
        self.start_operations(now, out);
        Ok(())
    }

    fn completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.source.ended);
    }
}
