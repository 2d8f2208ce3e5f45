//! Storage server shim of multigets: request frames in, storage calls and reply frames out.
//!
//! Rules
//! -----
//! 1. The requested keys of a frame are NUMKEY keys from STARTIDX on; others are ignored. All of
//!    them must be this server's.
//! 2. A read is one storage call for each key, all in one batch, and is answered when all have
//!    ended. A key without a record is "not found", but if the store fails for one key, the request
//!    fails. Results that exceed a packet take several replies, each of which names its keys.
//! 3. A write takes effect once, however often its frame arrives, and is answered after the store
//!    has it. Writes of one key run one at a time, in the order of their arrival.
//! 4. The sender of a write is the client, even if a coordinator forwards it: the frame names the
//!    client. So copies of a write are recognized even if the coordinator was restarted in between.
//! 5. Each write is handed to the store with its number, so that a restarted server reads from the
//!    store which writes were applied.
//! 6. The number of waiting requests is limited; others are answered with "overloaded".
//! 7. A copy of a request that waits for service, or of a read that waits for the store, is
//!    ignored: the pending answer goes to the same sender.
//!
//! Modules: `reads` has rules 1 and 2, `writes` rules 3 to 5.

mod config;
mod reads;
mod state;
mod writes;

use netkv_wire::multiget::{Addresses, Answer, View, owner};
use netkv_wire::{Ip, server_ip};
use netkv_workload::keyspace_id;
use rustc_hash::FxHashMap;

use super::results::send_answer;
use crate::common::copies::Copies;
use crate::common::service::{Arrival, Service};
use crate::common::slots::Slots;
use crate::common::window::Window;
use crate::{Actions, Applied, CallId, Counts, Nanos, RESERVED, ServerStats, StoreResult};
pub use config::ServerConfig;
pub use state::Server;
use state::{Call, Requester};

impl Server {
    /// A server that starts at `now` over a store that has applied no requests.
    ///
    /// # Panics
    ///
    /// If [`ServerConfig::check`] finds an error.
    pub fn new(config: ServerConfig, now: Nanos) -> Self {
        Self::restore(config, now, &Applied::default())
    }

    /// A server that starts at `now` over a store that remembers what it has `applied`: it treats
    /// copies of those writes as it would without a restart.
    ///
    /// # Panics
    ///
    /// If [`ServerConfig::check`] finds an error.
    pub fn restore(config: ServerConfig, now: Nanos, applied: &Applied) -> Self {
        config.check().unwrap_or_else(|why| panic!("{why}"));
        let second = config.second(now);
        let window =
            |(sender, blocks)| Some((sender, Window::restored(blocks, second, Answer::Ok)?));
        Self {
            windows: applied.senders().filter_map(window).collect(),
            waiting: FxHashMap::default(),
            reads: Slots::default(),
            reading: 0,
            calls: Slots::default(),
            copies: Copies::default(),
            service: config.service_rate.map(|rate| Service::new(rate, config.service_queue)),
            spare_results: Vec::new(),
            stats: ServerStats::default(),
            keys_read: 0,
            config,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Counts since the start.
    pub fn stats(&self) -> &ServerStats {
        &self.stats
    }

    /// Keys of accepted reads.
    pub fn keys_read(&self) -> u64 {
        self.keys_read
    }

    /// Accepts a request, when its service starts.
    fn serve(&mut self, now: Nanos, view: &View<'_>, out: &mut Actions) {
        let requester = Requester::of(view);
        if !requester.header.op.reads() {
            self.copies.end(now, requester.request());
        }
        if view.asked().any(|key| self.is_reserved(key)) {
            self.stats.unexpected += 1;
            self.copies.forget(requester.request());
            self.answer(&requester, Answer::Rejected, out);
        } else if requester.header.op.reads() {
            self.on_read(view, requester, out);
        } else {
            self.on_write(now, view, requester, out);
        }
    }

    /// Whether a key is one of a store's own records, which clients may not access.
    fn is_reserved(&self, key: &[u8]) -> bool {
        let of_keyspace = keyspace_id(key, self.config.layout.key_size).is_some();
        key.starts_with(&RESERVED) && !of_keyspace
    }

    fn address(&self) -> Ip {
        server_ip(self.config.server)
    }

    fn addresses_to(&self, requester: &Requester) -> Addresses {
        let fields = self.config.layout.fields;
        Addresses { source: self.address(), destination: requester.ip, fields }
    }

    /// Answers a request with a status only.
    fn answer(&self, requester: &Requester, answer: Answer, out: &mut Actions) {
        send_answer(&self.addresses_to(requester), &requester.header, answer, out);
    }
}

impl crate::Server for Server {
    fn index(&self) -> u16 {
        self.config.server
    }

    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let Ok(view) = View::parse(bytes, self.config.layout.fields) else {
            self.stats.malformed += 1;
            return;
        };
        if view.header().reply || view.destination() != self.address() {
            self.stats.unexpected += 1;
            return;
        }
        let (server, servers) = (self.config.server, self.config.layout.servers);
        if view.asked().any(|key| owner(key, servers) != server) {
            self.stats.wrong_partition += 1;
            return;
        }
        let request = Requester::of(&view).request();
        let reads = view.header().op.reads();
        if (reads || self.service.is_some()) && self.copies.is_copy(now, request) {
            self.stats.duplicates += 1;
            return;
        }
        match self.service.as_mut().map_or(Arrival::Serve, |it| it.arrive(now, bytes)) {
            Arrival::Serve => self.serve(now, &view, out),
            Arrival::Queued => {}
            Arrival::Dropped => {
                self.copies.forget(request);
                self.stats.dropped += 1;
            }
        }
    }

    fn on_stored(&mut self, now: Nanos, call: CallId, result: StoreResult<'_>, out: &mut Actions) {
        if result == StoreResult::Failed {
            self.stats.failures += 1;
        }
        match self.calls.take(call) {
            Some(Call::Read(read, at)) => self.on_key_read(now, read, at, result, out),
            Some(Call::Write(write)) => self.on_written(now, *write, result, out),
            None => self.stats.unexpected += 1,
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        self.service.as_ref().and_then(Service::next)
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Actions) {
        while let Some((_, bytes)) = self.service.as_mut().and_then(|it| it.take(now)) {
            if let Ok(view) = View::parse(&bytes, self.config.layout.fields) {
                self.serve(now, &view, out);
            }
            if let Some(service) = &mut self.service {
                service.recycle(bytes);
            }
        }
    }

    fn slow(&mut self, factor: f64) -> bool {
        let (Some(service), Some(rate)) = (&mut self.service, self.config.service_rate) else {
            return false;
        };
        service.set_rate(rate / factor);
        true
    }

    fn busy_keys(&self) -> usize {
        self.waiting.len()
    }

    fn counts(&self) -> Counts {
        let mut counts: Counts = self.stats.list().collect();
        counts.extend([("keys_read", self.keys_read), ("busy_keys", self.waiting.len() as u64)]);
        counts
    }
}
