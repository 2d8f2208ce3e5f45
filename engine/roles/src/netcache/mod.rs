//! NetCache: single keys behind a write-through cache in the switch (NetCache paper, section on
//! cache coherence). Clients are those of [`crate::plain`].
//!
//! Rules of a server, beside those of [`crate::single_key::server`]
//! -----
//! 1. A write is *fast* if the switch has certainly invalidated the entry for it: its cache
//!    metadata has the generation of the record and a version newer than any that was pushed; or
//!    it has no cache metadata and there is no record. Every other write is *slow*: the server
//!    invalidates the entry itself (INVALIDATE) and applies the write when the switch has answered.
//! 2. A value is pushed (UPDATE) with the version of the write or INVALIDATE that invalidated the
//!    entry, and sent again until answered. One version is never pushed with two values. While
//!    INVALIDATE or UPDATE are under way, further writes of the key wait.
//! 3. A record of an entry is made only from the cache metadata in the reply to an INVALIDATE. It
//!    is dropped when the switch answers "not cached", or the controller reports the eviction.
//! 4. A read has cache metadata if the entry is invalid. If its version is newer than the last pushed
//!    one, or there is no record (this server restarted), the value is pushed again.
//! 5. ADMIT holds the writes of a key, so that its value still fits when INSTALL arrives, but not
//!    longer than its lease. INSTALL is safe without it.
//! 6. Writes without cache metadata that arrive during the guard time after the start are slow,
//!    too: they may have passed the switch before an entry was filled, and this server may have
//!    lost its record.
//! 7. Pending requests and records need not survive a restart: they are created again (rules 3 and
//!    4), and messages of the controller may arrive twice.
//! 8. With an upper layer of switches, a key has up to two entries, each with a record. A write is
//!    slow if there is a record of the upper one, which the write need not have passed. After its
//!    start a server knows none of them: every write is slow until the controller has installed all
//!    of them again and has answered RESTARTED.
//!
//! 9. If a switch of the upper layer does not answer for long, the server forgets all upper records
//!    and asks again, as after its start: the controller that knew of them may have failed, too.
//!
//! `coherence` has rules 1 to 4, 6 and 8, `control` rule 5 and the other messages of the controller,
//! `learning` those about rules 8 and 9, `state` the state of each key.

mod coherence;
mod control;
mod learning;
mod state;

use netkv_wire::{FrameView, Key, Op, Status};
use rustc_hash::FxHashMap;

use crate::common::stats::counts;
use crate::common::window::Window;
use crate::records::Keying;
use crate::registry::ServerEntry;
use crate::single_key::server::pending::PendingRequests;
use crate::single_key::server::state::{KeyState, Next};
use crate::single_key::server::{Protocol, Read, Write};
use crate::single_key::{self, ServerConfig, SingleKeyFrames};
use crate::{Actions, Counts, Nanos, SECOND, StoreResult};
use control::ControlReply;
use state::{Control, Layer, PerLayer, Record, Step, Tag, Timer, Waiting};

/// A storage server.
pub type Server = single_key::Server<NetCache>;

/// The registry's entry for servers.
pub(crate) const SERVER: ServerEntry = ServerEntry {
    name: "netcache",
    keying: |_| Keying::Ranges,
    keeps_sequences: false,
    frames: |_| Box::new(SingleKeyFrames),
    restore: &|options, now, applied| {
        Ok(Box::new(Server::restore(ServerConfig::of(options), now, applied)))
    },
};

/// Settings of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// How long ADMIT holds writes if no INSTALL arrives.
    pub lease: Nanos,
    /// Whether an upper layer of switches caches records, too.
    pub upper_layer: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { lease: SECOND, upper_layer: false }
    }
}

counts! {
    /// Counts of a server since it started.
    pub struct CacheStats {
        /// Writes that needed an invalidation of their own.
        slow_writes,
        /// Updates sent to the switch, retries not counted.
        updates,
    }
}

/// The state of a server for the switch's cache.
#[derive(Debug)]
pub struct NetCache {
    guard_until: Nanos,
    records: PerLayer<FxHashMap<Key, Record>>,
    /// Whether all copies in the upper layer are known: RESTARTED is answered (rule 8).
    knows_copies: bool,
    control_windows: FxHashMap<u16, Window<ControlReply>>,
    pending: PendingRequests,
    stats: CacheStats,
}

impl Server {
    /// Counts of the protocol since the start.
    pub fn cache_stats(&self) -> &CacheStats {
        &self.protocol.stats
    }

    /// Number of keys that the server believes cached.
    pub fn cached_keys(&self) -> usize {
        self.protocol.records[Layer::Lower].len()
    }

    /// The layers that have entries.
    fn layers(&self) -> &'static [Layer] {
        let layers = &Layer::ALL;
        if self.config.protocol.upper_layer { layers } else { &layers[..1] }
    }
}

impl Protocol for NetCache {
    type Config = Config;
    type Tag = Tag;
    type Step = Step;
    type KeyState = Waiting;
    type Control = Control;
    type Query = Read;
    type Timer = Timer;

    fn new(config: &ServerConfig<Config>, now: Nanos) -> Self {
        Self {
            guard_until: now.saturating_add(config.guard),
            records: PerLayer::default(),
            knows_copies: !config.protocol.upper_layer,
            control_windows: FxHashMap::default(),
            pending: PendingRequests::new(config.server, config.first_request, config.retry),
            stats: CacheStats::default(),
        }
    }

    fn on_start(server: &mut Server, now: Nanos) {
        if server.config.protocol.upper_layer {
            server.timers.set(now, Timer::Start);
        }
    }

    fn is_for_all(op: Op) -> bool {
        op == Op::RestartedReply
    }

    fn on_message(server: &mut Server, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        match frame.op() {
            Op::InvalidateReply => server.on_invalidate_reply(now, frame, out),
            Op::UpdateReply => server.on_update_reply(now, frame, out),
            Op::OutgrownReply => server.on_outgrown_reply(now, frame),
            Op::RestartedReply => server.on_restarted_reply(now, frame, out),
            Op::Admit | Op::Install | Op::Evicted => server.on_control(now, frame, out),
            _ => server.reject_message(frame, out),
        }
    }

    fn on_get(server: &mut Server, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        server.read(frame, out);
        server.refresh(now, frame, out);
    }

    fn tag(&self, frame: &FrameView<'_>, arrived: Nanos) -> Tag {
        Tag { metadata: frame.cache_metadata(), guarded: arrived < self.guard_until }
    }

    fn next(state: &mut KeyState<Self>, now: Nanos) -> Next<Self> {
        if let Some(control) = state.own.controls.pop_front() {
            return Next::Control(control);
        }
        if state.own.held_until.is_some_and(|until| until > now) {
            return Next::Hold;
        }
        state.own.held_until = None;
        state.next_write()
    }

    fn start_write(
        server: &mut Server,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        out: &mut Actions,
    ) {
        server.start_coherent(now, key, write, out);
    }

    fn start_control(
        server: &mut Server,
        now: Nanos,
        key: &Key,
        control: Control,
        out: &mut Actions,
    ) {
        server.start_control(now, key, control, out);
    }

    /// Refreshes the entry: the copy has invalidated it again when it passed the switch.
    fn on_copy(
        server: &mut Server,
        now: Nanos,
        frame: &FrameView<'_>,
        ended: Option<Status>,
        out: &mut Actions,
    ) {
        if let Some(status) = ended {
            server.refuse(frame, status, out);
        }
        server.refresh(now, frame, out);
    }

    fn on_queried(
        server: &mut Server,
        now: Nanos,
        read: Read,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        server.answer_read(now, &read, result, out);
    }

    fn on_step_stored(
        server: &mut Server,
        now: Nanos,
        key: &Key,
        step: Step,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        match step {
            Step::Storing { write, pushes } => {
                server.on_write_stored(now, key, write, pushes, result, out);
            }
            Step::Measuring(control) => server.on_measured(now, key, control, result, out),
            Step::Fetching { pushes, install } => {
                server.on_fetched(now, key, pushes, install, result, out);
            }
            step @ (Step::Invalidating { .. } | Step::Updating { .. }) => {
                // These wait for a frame and are not ended by the store.
                server.stats.unexpected += 1;
                server.set_step(key, step);
            }
        }
    }

    fn on_timer(server: &mut Server, now: Nanos, timer: Timer, out: &mut Actions) {
        match timer {
            Timer::Start => server.ask_for_copies(now, out),
            Timer::Retry(request) => server.send_again(now, request, out),
            Timer::Lease(key) => server.advance(now, &key, out),
        }
    }

    fn add_counts(&self, into: &mut Counts) {
        into.extend(self.stats.list());
        into.push(("cached_keys", self.records[Layer::Lower].len() as u64));
        into.push(("upper_copies", self.records[Layer::Upper].len() as u64));
    }
}
