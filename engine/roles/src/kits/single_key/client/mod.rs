//! Clients of single keys, many in one state machine, over a source of operations: a load, or users.
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
//! 5. Every operation of a load is recorded, and the [`Checker`](netkv_checker::Checker) judges for
//!    every read whether the history of its key is still linearizable; a final verification reads
//!    every written key back.
//!    A conditional write that is refused has not taken effect. If it was sent again, its effect is
//!    unknown: a copy may have taken effect before.
//! 6. A protocol adds in its [`Protocol`]: stamps of requests, which answers are accepted, and
//!    messages to and from the controller. Answers are handed to it whatever the source.
//!
//! [`crate::common::senders`] has rule 2, [`crate::common::load`] rules 4 and 5 and the arrivals,
//! `requests` rules 1 and 3. `users` has the operations that users submit.

mod protocol;
mod request;
mod requests;
mod users;

use std::any::Any;

use netkv_wire::peek_request;
use netkv_workload::Workload;

use crate::common::load::Load;
use crate::common::senders::Senders;
use crate::common::source::Source;
use crate::common::timers::{Timeouts, Timers};
use crate::entries::ClientEntry;
use crate::{
    Actions, ClientConfig, ClientCounts, Completion, Counts, LoadClient, Nanos, UserClient, UserOp,
};
pub use protocol::{Protocol, Verdict};
pub use request::Request;
pub use users::Users;

/// Many clients in one state machine. The comment of the module has its rules.
#[derive(Debug)]
pub struct Client<P: Protocol, S: Source<Request> = Load> {
    /// `senders` has the index of each.
    requests: Vec<Option<Request>>,
    free: Vec<u32>,
    outstanding: usize,
    senders: Senders,
    timers: Timers<(u16, u32)>,
    timeouts: Timeouts,
    pub(crate) protocol: P,
    source: S,
    /// Buffers that are reused.
    value: Vec<u8>,
    received: Vec<u8>,
}

/// The role of the clients with this protocol.
pub(crate) const fn role<P: Protocol>(name: &'static str) -> ClientEntry {
    ClientEntry {
        name,
        load: &|options, workload| {
            let config = ClientConfig { window: P::WINDOW, ..options.load };
            Ok(Box::new(Client::<P>::new(config, workload)?))
        },
        users: &|options| {
            let config = ClientConfig { window: P::WINDOW, ..options.load };
            Ok(Box::new(Client::<P, Users>::of_users(config)?))
        },
    }
}

impl<P: Protocol> Client<P> {
    /// Clients with a load, which start no operation until [`LoadClient::start`].
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn new(config: ClientConfig, workload: Workload) -> Result<Self, String> {
        Self::with(P::new(&config)?, &config, Load::new(config, workload))
    }
}

impl<P: Protocol> Client<P, Users> {
    /// Clients of users.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn of_users(config: ClientConfig) -> Result<Self, String> {
        Self::with(P::new(&config)?, &config, Users::new(config))
    }
}

impl<P: Protocol, S: Source<Request>> Client<P, S> {
    /// Clients of any source, with an existing protocol.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn with(protocol: P, config: &ClientConfig, source: S) -> Result<Self, String> {
        config.check()?;
        Ok(Self {
            requests: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            senders: Senders::new(config, 1),
            timers: Timers::new(),
            timeouts: Timeouts::new(config.retry),
            protocol,
            source,
            value: Vec::new(),
            received: Vec::new(),
        })
    }
}

impl<P: Protocol, S: Source<Request>> crate::Client for Client<P, S> {
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let mut buffer = std::mem::take(&mut self.received);
        self.take_frame(now, P::receive(bytes, &mut buffer), out);
        self.received = buffer;
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
        self.source.poll(now);
        self.start_requests(now, out);
    }

    fn deadline(&self) -> Option<Nanos> {
        let timer = self.timers.next().unwrap_or(Nanos::MAX);
        let due = [timer, self.source.due(), self.protocol.due()];
        due.into_iter().min().filter(|due| *due != Nanos::MAX)
    }

    fn outstanding(&self) -> usize {
        self.outstanding
    }

    fn counts(&self) -> &ClientCounts {
        self.source.counts()
    }

    fn take_counts(&mut self, into: &mut Counts) {
        self.protocol.take_counts(into);
    }

    fn add_gauges(&self, into: &mut Counts) {
        self.protocol.add_gauges(into);
    }

    fn crash(&mut self, now: Nanos, out: &mut Actions) {
        for slot in 0..self.requests.len() {
            if let Some(request) = self.requests[slot].take() {
                self.give_up(slot as u32, request);
            }
        }
        self.protocol.crash();
        self.poll(now, out);
    }

    fn leave(&mut self, now: Nanos, out: &mut Actions) {
        self.source.leave();
        self.protocol.leave(now);
        self.poll(now, out);
    }

    fn has_left(&self) -> bool {
        self.protocol.has_left()
    }
}

impl<P: Protocol> LoadClient for Client<P> {
    fn load(&self) -> &Load {
        &self.source
    }

    fn load_mut(&mut self) -> &mut Load {
        &mut self.source
    }

    fn fill(&mut self, now: Nanos, out: &mut Actions) {
        self.start_requests(now, out);
    }

    fn start(&mut self, now: Nanos, out: &mut Actions) {
        self.protocol.start(now);
        self.source.start(now);
        self.fill(now, out);
    }
}

impl<P: Protocol> UserClient for Client<P, Users> {
    fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String> {
        self.source.submit(now, token, op)?;
        self.start_requests(now, out);
        Ok(())
    }

    fn completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.source.ended);
    }
}
