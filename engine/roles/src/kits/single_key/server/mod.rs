//! Storage server of single keys: request frames in, storage calls and reply frames out.
//!
//! Rules
//! -----
//! 1. A write takes effect once, however often its frame arrives, and is answered after the store
//!    has it. Writes of one key run one at a time, in the order in which they are accepted.
//! 2. Each write is handed to the store with its number, so that a restarted server reads from the
//!    store which writes were applied (rule 1).
//! 3. A copy of a request that waits for service, or of a read that waits for the store, is
//!    ignored: the answer goes to the sender of the request.
//! 4. A protocol adds in its [`Protocol`]: how a write is carried out, how a read is answered, and
//!    which messages of switch and controller there are.
//!
//! `requests` has rules 1 and 2, [`crate::common::copies`] rule 3.

mod config;
pub(crate) mod pending;
mod protocol;
mod requests;
pub(crate) mod state;

use netkv_wire::{
    CONTROLLER_SENDER, FrameView, Ip, Key, Message, Op, Status, partition, server_ip,
};
use rustc_hash::FxHashMap;

use super::SingleKeyFrames;
use crate::common::copies::Copies;
use crate::common::service::{Arrival, Service};
use crate::common::slots::Slots;
use crate::common::timers::Timers;
use crate::common::window::Window;
use crate::entries::ServerEntry;
use crate::records::Keying;
use crate::{Actions, Applied, CallId, Counts, Nanos, ServerStats, StoreResult};
pub use config::ServerConfig;
pub use protocol::{KeyState, Next, Protocol, Server};
use state::Call;
pub use state::{Read, Write};

/// The role of the servers with this protocol.
pub(crate) const fn role<P: Protocol>(name: &'static str) -> ServerEntry {
    ServerEntry {
        name,
        keying: |_| Keying::Ranges,
        keeps_sequences: false,
        frames: |_| Box::new(SingleKeyFrames),
        restore: &|options, now, applied| {
            Ok(Box::new(Server::<P>::restore(ServerConfig::of(options), now, applied)))
        },
    }
}

impl<P: Protocol> Server<P> {
    /// A server that starts at `now` over a store that has applied no requests.
    pub fn new(config: ServerConfig<P::Config>, now: Nanos) -> Self {
        Self::restore(config, now, &Applied::default())
    }

    /// A server that starts at `now` over a store that remembers what it has `applied`: it treats
    /// copies of those writes as if it had never stopped.
    pub fn restore(config: ServerConfig<P::Config>, now: Nanos, applied: &Applied) -> Self {
        Self::with(P::new(&config, now), config, now, applied)
    }

    /// The same with an existing protocol.
    pub(crate) fn with(
        protocol: P,
        config: ServerConfig<P::Config>,
        now: Nanos,
        applied: &Applied,
    ) -> Self {
        let second = config.second(now);
        let window =
            |(sender, blocks)| Some((sender, Window::restored(blocks, second, Status::Ok)?));
        let mut server = Self {
            keys: FxHashMap::default(),
            windows: applied.senders().filter_map(window).collect(),
            copies: Copies::default(),
            calls: Slots::default(),
            timers: Timers::new(),
            service: config.service_rate.map(|rate| Service::new(rate, config.service_queue)),
            spare: Vec::new(),
            stats: ServerStats::default(),
            protocol,
            config,
        };
        P::on_start(&mut server, now);
        server
    }

    /// The configuration.
    pub fn config(&self) -> &ServerConfig<P::Config> {
        &self.config
    }

    /// Counts since the start that all protocols have.
    pub fn stats(&self) -> &ServerStats {
        &self.stats
    }

    /// Serves or queues a request of a client, unless it is a copy of one that is under way.
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

    /// Handles a message that the protocol does not have. A message of the controller with cache
    /// metadata expects an answer, so it is refused.
    pub(crate) fn reject_message(&mut self, frame: &FrameView<'_>, out: &mut Actions) {
        let waits = frame.sender() == CONTROLLER_SENDER && frame.cache_metadata().is_some();
        if waits && !frame.op().is_reply() {
            self.refuse(frame, Status::Rejected, out);
        } else {
            self.stats.unexpected += 1;
        }
    }

    /// Starts waiting work of `key`, until some is under way or none may start.
    pub(crate) fn advance(&mut self, now: Nanos, key: &Key, out: &mut Actions) {
        while let Some(state) = self.keys.get_mut(key) {
            if state.step.is_some() {
                return;
            }
            match P::next(state, now) {
                Next::Control(control) => P::start_control(self, now, key, control, out),
                Next::Write(write) => P::start_write(self, now, key, write, out),
                Next::Hold => return,
                Next::Nothing => {
                    self.keys.remove(key);
                }
            }
        }
    }

    /// Sets the step under way for `key`.
    pub(crate) fn set_step(&mut self, key: &Key, step: P::Step) {
        self.keys.entry(*key).or_default().step = Some(step);
    }

    /// Takes the step under way for `key`.
    pub(crate) fn take_step(&mut self, key: &Key) -> Option<P::Step> {
        self.keys.get_mut(key)?.step.take()
    }

    /// Reads the record of `key` from the store, for this step.
    pub(crate) fn get_for_step(&mut self, key: &Key, step: P::Step, out: &mut Actions) {
        let call = self.calls.add(Call::Key(*key));
        out.get(call, *key);
        self.set_step(key, step);
    }

    pub(crate) fn address(&self) -> Ip {
        server_ip(self.config.server)
    }

    /// Sends the answer to a frame.
    pub(crate) fn send_reply(&self, reply: Message<'_>, out: &mut Actions) {
        out.send(&Message { source: self.address(), ..reply });
    }

    /// An empty buffer, with reused memory if there is any.
    pub(crate) fn take_buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < 1024 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

impl<P: Protocol> crate::Server for Server<P> {
    fn index(&self) -> u16 {
        self.config.server
    }

    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let Ok(frame) = FrameView::parse(bytes) else {
            self.stats.malformed += 1;
            return;
        };
        if partition(&frame.key(), self.config.servers) != self.config.server
            && !P::is_for_all(frame.op())
        {
            self.stats.wrong_partition += 1;
            return;
        }
        match frame.op() {
            Op::Get | Op::Put | Op::Delete => self.on_request(now, &frame, bytes, out),
            _ => P::on_message(self, now, &frame, out),
        }
    }

    fn on_stored(&mut self, now: Nanos, call: CallId, result: StoreResult<'_>, out: &mut Actions) {
        if result == StoreResult::Failed {
            self.stats.failures += 1;
        }
        match self.calls.take(call) {
            Some(Call::Query(query)) => P::on_queried(self, now, query, result, out),
            Some(Call::Key(key)) => {
                match self.take_step(&key) {
                    Some(step) => P::on_step_stored(self, now, &key, step, result, out),
                    None => self.stats.unexpected += 1,
                }
                self.advance(now, &key, out);
            }
            None => self.stats.unexpected += 1,
        }
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Actions) {
        while let Some((arrived, bytes)) = self.service.as_mut().and_then(|it| it.take(now)) {
            if let Ok(frame) = FrameView::parse(&bytes) {
                self.serve(now, arrived, &frame, out);
            }
            if let Some(service) = &mut self.service {
                service.recycle(bytes);
            }
        }
        while let Some((_, timer)) = self.timers.take(now) {
            P::on_timer(self, now, timer, out);
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        let service = self.service.as_ref().and_then(Service::next);
        [self.timers.next(), service].into_iter().flatten().min()
    }

    fn slow(&mut self, factor: f64) -> bool {
        let (Some(service), Some(rate)) = (&mut self.service, self.config.service_rate) else {
            return false;
        };
        service.set_rate(rate / factor);
        true
    }

    fn busy_keys(&self) -> usize {
        self.keys.len()
    }

    fn counts(&self) -> Counts {
        let mut counts: Counts = self.stats.list().collect();
        counts.push(("busy_keys", self.keys.len() as u64));
        self.protocol.add_counts(&mut counts);
        counts
    }
}
