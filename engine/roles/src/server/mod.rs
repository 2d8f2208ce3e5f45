//! Storage server shim: request frames in, storage calls and reply frames out.
//!
//! Rules (NetCache paper, section on cache coherence)
//! -----
//! 1. A write has its effect once, however often its frame comes, and is answered after the store
//!    has it. Writes of one key run one at a time, in the order in which they are taken up.
//! 2. A write is *fast* if the switch has certainly invalidated the entry for it: it is marked
//!    with the generation of the record and a version newer than any that was pushed; or it is
//!    unmarked and there is no record. Every other write is *slow*: the server invalidates the
//!    entry itself (INVALIDATE) and applies the write only when the switch has answered.
//! 3. A value is pushed (UPDATE) with the version of the write or INVALIDATE that made room for
//!    it, retried until answered. One version is never pushed with two values. While INVALIDATE
//!    or UPDATE are under way, further writes of the key wait.
//! 4. Records come from the switch's own word: a mark in the reply to an INVALIDATE. They go when
//!    the switch says "not cached" or the controller says that the entry is gone.
//! 5. A marked read says that the entry is out of date. If the version is newer than what was
//!    pushed, or there is no record (this server restarted), the value is pushed again.
//! 6. ADMIT holds the writes of a key, so that its value fits when INSTALL comes, but not
//!    longer than its lease. INSTALL is safe without it.
//! 7. Unmarked writes that arrive within some time after the start are slow too: they may have
//!    passed the switch before an entry was filled of which this server has lost the record.
//! 8. Each write is handed to the store with its number, and a server that starts again over the
//!    store knows from there what it has applied (rule 1). It need not remember more: questions
//!    and records are made again (rules 4 and 5), messages of the controller may come twice.
//!
//! 9. A copy of a request that waits for service, or of a read that waits for the store, is ignored:
//!    the answer comes to whoever asked.
//!
//! Where it lives: `requests` has rules 1 and 7, `copies` rule 9, `coherence` rules 2 to 5, `control` rule 6. A server
//! without a cache follows rules 1 and 8 only; one of FarReach these and those of `write_back`.

mod coherence;
mod config;
mod control;
mod copies;
mod offers;
mod queries;
mod questions;
mod requests;
mod sequences;
mod service;
mod state;
mod tombstones;
mod window;
mod write_back;

use netkv_wire::{FrameView, Key, Op, Status, partition, sender_of_server, server_ip};
use rustc_hash::FxHashMap;

use crate::mutation::Mutated;
use crate::timers::Timers;
use crate::{Actions, Applied, CallId, Nanos, ServerStats, StoreResult};
pub use config::{Scheme, ServerConfig};
use control::ControlReply;
pub(crate) use copies::Copies;
use offers::Offers;
use sequences::Sequences;
pub(crate) use service::{Arrival, Service};
use state::{Call, Calls, KeyState, Question, Record, Step, Timer};
use tombstones::Tombstones;
pub use window::WINDOW;
pub(crate) use window::{Seen, Window};

/// One partition's storage server shim. See the head comment for its rules.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    guard_until: Nanos,
    next_request: u32,
    keys: FxHashMap<Key, KeyState>,
    questions: FxHashMap<u32, Question>,
    windows: FxHashMap<u16, Window<Status>>,
    // NetCache
    records: FxHashMap<Key, Record>,
    control_windows: FxHashMap<u16, Window<ControlReply>>,
    // FarReach
    sequences: Sequences,
    offers: Offers,
    tombstones: Tombstones,
    // The work itself
    /// Reads until they are answered, and writes that wait for service: then `windows` has them.
    copies: Copies<(u16, u32)>,
    calls: Calls,
    timers: Timers<Timer>,
    service: Option<Service>,
    spare: Vec<Vec<u8>>,
    stats: ServerStats,
    pub(crate) mutated: Mutated,
}

impl Server {
    /// A server that starts at `now` over a store that has applied no requests.
    pub fn new(config: ServerConfig, now: Nanos) -> Self {
        Self::restore(config, now, &Applied::default())
    }

    /// A server that starts at `now` over a store that remembers what it has `applied`: it treats
    /// copies of those writes as if it had never been away.
    pub fn restore(config: ServerConfig, now: Nanos, applied: &Applied) -> Self {
        let second = config.second(now);
        let window =
            |(sender, blocks)| Some((sender, Window::restored(blocks, second, Status::Ok)?));
        Self {
            guard_until: now.saturating_add(config.guard),
            next_request: config.first_request,
            keys: FxHashMap::default(),
            questions: FxHashMap::default(),
            windows: applied.senders().filter_map(window).collect(),
            records: FxHashMap::default(),
            control_windows: FxHashMap::default(),
            sequences: Sequences::default(),
            offers: Offers::default(),
            tombstones: Tombstones::default(),
            copies: Copies::default(),
            calls: Calls::default(),
            timers: Timers::new(),
            service: config.service_rate.map(|rate| Service::new(rate, config.service_queue)),
            spare: Vec::new(),
            stats: ServerStats::default(),
            mutated: Mutated::default(),
            config,
        }
    }

    /// What this server is.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Counts since the start.
    pub fn stats(&self) -> &ServerStats {
        &self.stats
    }

    /// Number of keys that the server believes cached.
    pub fn cached_keys(&self) -> usize {
        self.records.len()
    }

    /// Number of keys for which something is under way, waits or is held.
    pub fn busy_keys(&self) -> usize {
        self.keys.len()
    }

    /// Serves `factor` times slower than its service rate says, from the next request on; 1 is the
    /// rate itself. A server without a rate has nothing to slow down: then false.
    pub fn slow(&mut self, factor: f64) -> bool {
        let (Some(service), Some(rate)) = (&mut self.service, self.config.service_rate) else {
            return false;
        };
        service.set_rate(rate / factor);
        true
    }

    /// Takes one frame; pushes what must happen next onto `out`. Frames that are not for this
    /// server are counted and have no effect.
    pub fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let Ok(frame) = FrameView::parse(bytes) else {
            self.stats.malformed += 1;
            return;
        };
        // A HORIZON is for this server whatever its key.
        if partition(&frame.key(), self.config.servers) != self.config.server
            && frame.op() != Op::Horizon
        {
            self.stats.wrong_partition += 1;
            return;
        }
        match frame.op() {
            Op::Get | Op::Put | Op::Delete => self.on_request(now, &frame, bytes, out),
            Op::InvalidateReply => self.on_invalidate_reply(now, &frame, out),
            Op::UpdateReply => self.on_update_reply(now, &frame, out),
            Op::OutgrownReply => self.on_outgrown_reply(&frame),
            Op::Admit | Op::Install | Op::Evicted => self.on_control(now, &frame, out),
            op if self.config.scheme == Scheme::FarReach => match op {
                Op::OfferReply => self.on_offer_reply(now, &frame),
                Op::Restore => self.on_restore(now, &frame, out),
                Op::Fetch => self.on_fetch(&frame, out),
                Op::Horizon => self.on_horizon(now, &frame, out),
                _ => self.stats.unexpected += 1,
            },
            _ => self.stats.unexpected += 1,
        }
    }

    /// A request of a client: it is served, or waits for that, unless it is a copy of one that is
    /// under way.
    fn on_request(&mut self, now: Nanos, frame: &FrameView<'_>, bytes: &[u8], out: &mut Actions) {
        let request = (frame.sender(), frame.request());
        let may_wait = frame.op() == Op::Get || self.service.is_some();
        if may_wait && self.copies.is_copy(now, request) {
            self.stats.duplicates += 1;
            return;
        }
        match self.service.as_mut().map_or(Arrival::Serve, |it| it.arrive(now, bytes)) {
            Arrival::Serve => self.serve(now, now, frame, out),
            Arrival::Queued => {}
            Arrival::Dropped => {
                self.copies.forget(request);
                self.stats.dropped += 1;
            }
        }
    }

    /// The store has finished `call`. An id that is not under way has no effect.
    pub fn on_stored(
        &mut self,
        now: Nanos,
        call: CallId,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        if result == StoreResult::Failed {
            self.stats.failures += 1;
        }
        match self.calls.take(call) {
            Some(Call::Read { client, sender, request, key }) => {
                self.copies.end(now, (sender, request));
                self.answer_read(client, sender, request, key, result, out);
            }
            Some(Call::Query(query)) => {
                if query.op == Op::Get {
                    self.copies.end(now, (query.sender, query.request));
                }
                self.on_queried(now, query, result, out);
            }
            Some(Call::Key(key)) => self.on_key_stored(now, key, result, out),
            None => self.stats.unexpected += 1,
        }
    }

    /// When to call [`Server::on_timer`], if nothing happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        let service = self.service.as_ref().and_then(Service::next);
        [self.timers.next(), service].into_iter().flatten().min()
    }

    /// Does what is due at `now`. Calling it early does nothing.
    pub fn on_timer(&mut self, now: Nanos, out: &mut Actions) {
        while let Some((arrived, bytes)) = self.service.as_mut().and_then(|it| it.take(now)) {
            if let Ok(frame) = FrameView::parse(&bytes) {
                self.serve(now, arrived, &frame, out);
            }
            if let Some(service) = &mut self.service {
                service.recycle(bytes);
            }
        }
        while let Some((_, timer)) = self.timers.take(now) {
            match timer {
                Timer::Question(request) => self.ask_again(now, request, out),
                Timer::Lease(key) => self.advance(now, &key, out),
                Timer::OfferAgain(key) => self.offers.rest_is_over(&key),
                Timer::Tombstones => self.drop_tombstones(now, out),
            }
        }
    }

    /// Starts what waits for `key`, until something is under way or nothing may start.
    fn advance(&mut self, now: Nanos, key: &Key, out: &mut Actions) {
        while let Some(state) = self.keys.get_mut(key) {
            if !matches!(state.step, Step::Idle) {
                return;
            }
            if let Some(control) = state.controls.pop_front() {
                self.start_control(now, key, control, out);
                continue;
            }
            if state.held_until.is_some_and(|until| until > now) {
                return;
            }
            state.held_until = None;
            match state.writes.pop_front() {
                Some(write) => self.start_write(now, key, write, out),
                None => {
                    self.keys.remove(key);
                }
            }
        }
    }

    /// Sets what is under way for `key` and gives back what was.
    fn set_step(&mut self, key: &Key, step: Step) -> Step {
        let state = self.keys.entry(*key).or_insert_with(KeyState::new);
        std::mem::replace(&mut state.step, step)
    }

    fn sender(&self) -> u16 {
        sender_of_server(self.config.server)
    }

    fn address(&self) -> netkv_wire::Ip {
        server_ip(self.config.server)
    }

    fn take_request(&mut self) -> u32 {
        let request = self.next_request;
        self.next_request = request.wrapping_add(1);
        request
    }

    /// An empty buffer whose memory has been used before.
    fn take_buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < 1024 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
