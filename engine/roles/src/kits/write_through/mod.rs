//! Servers of single keys behind write-through caches in switches.
//!
//! Rules of a server, beside those of [`crate::kits::single_key::server`]
//! -----
//! 1. A write is *fast* if the switch has certainly invalidated the entry for it: its cache
//!    metadata has the generation of the record and a version newer than any that was pushed; or
//!    it has no cache metadata and there is no record. Every other write is *slow*: the server
//!    invalidates the entry itself (INVALIDATE) and applies the write when the switch has answered.
//! 2. A value is pushed (UPDATE) with the version of the write or INVALIDATE that invalidated the
//!    entry, and sent again until answered. One version is never pushed with two values. While
//!    INVALIDATE or UPDATE are under way, further writes of the key wait. (A scheme may send the
//!    UPDATE of a write once and await nothing: [`Layers::AWAITS_UPDATES`].)
//! 3. A record of an entry is made only from the cache metadata in the reply to an INVALIDATE. It
//!    is dropped when the switch answers "not cached", or the controller reports the eviction.
//! 4. A read has cache metadata if the entry is invalid. If its version is newer than the last
//!    pushed one, or there is no record (this server restarted), the value is pushed again.
//! 5. ADMIT holds the writes of a key, so that its value still fits when INSTALL arrives, but not
//!    longer than its lease. INSTALL is safe without it.
//! 6. Writes without cache metadata that arrive during the guard time after the start are slow,
//!    too: they may have passed the switch before an entry was filled, and this server may have
//!    lost its record.
//! 7. Pending requests and records need not survive a restart: they are created again (rules 3 and
//!    4), and messages of the controller may arrive twice.
//! 8. With an upper layer of switches, a key has up to two entries, each with a record. A write is
//!    slow if there is a record of the upper one, which the write need not have passed, or if the
//!    scheme does not know all of them ([`Layers::knows_upper`]).
//!
//! `coherence` has rules 1 to 4, 6 and 8, `control` rule 5 and the other messages of the
//! controller, `requests` the server's own requests, `state` the state of each key. [`Layers`] is
//! what a scheme adds.

mod coherence;
mod control;
pub(crate) mod layers;
mod requests;
mod server;
pub(crate) mod state;

use netkv_wire::{FrameView, Key, Op, Status};
use rustc_hash::FxHashMap;

use crate::kits::single_key::ServerConfig;
use crate::kits::single_key::server::pending::PendingRequests;
use crate::kits::single_key::server::{KeyState, Next, Protocol, Read, Write};
use crate::{Actions, Counts, Nanos, StoreResult};
use layers::{Layer, PerLayer};
pub use server::{CacheStats, Config, Layers, Server, WriteThrough};
use state::{Control, Step, Tag, Timer, Waiting};

impl<L: Layers> Protocol for WriteThrough<L> {
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
            layers: L::default(),
            control_windows: FxHashMap::default(),
            pending: PendingRequests::new(config.server, config.first_request, config.retry),
            stats: CacheStats::default(),
        }
    }

    fn on_start(server: &mut Server<L>, now: Nanos) {
        L::on_start(server, now);
    }

    fn is_for_all(op: Op) -> bool {
        L::is_for_all(op)
    }

    fn on_message(server: &mut Server<L>, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        match frame.op() {
            Op::InvalidateReply => server.on_invalidate_reply(now, frame, out),
            Op::UpdateReply => server.on_update_reply(now, frame, out),
            Op::OutgrownReply => server.on_outgrown_reply(now, frame),
            Op::Admit | Op::Install | Op::Evicted => server.on_control(now, frame, out),
            _ => L::on_message(server, now, frame, out),
        }
    }

    fn on_get(server: &mut Server<L>, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
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
        server: &mut Server<L>,
        now: Nanos,
        key: &Key,
        write: Write<Tag>,
        out: &mut Actions,
    ) {
        server.start_coherent(now, key, write, out);
    }

    fn start_control(
        server: &mut Server<L>,
        now: Nanos,
        key: &Key,
        control: Control,
        out: &mut Actions,
    ) {
        server.start_control(now, key, control, out);
    }

    /// Refreshes the entry: the copy has invalidated it again when it passed the switch.
    fn on_copy(
        server: &mut Server<L>,
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
        server: &mut Server<L>,
        now: Nanos,
        read: Read,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        server.answer_read(now, &read, result, out);
    }

    fn on_step_stored(
        server: &mut Server<L>,
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

    fn on_timer(server: &mut Server<L>, now: Nanos, timer: Timer, out: &mut Actions) {
        match timer {
            Timer::Start => L::on_start_timer(server, now, out),
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
