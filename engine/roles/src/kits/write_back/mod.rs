//! Servers of single keys behind write-back caches in switches.
//!
//! Rules, beside those of [`crate::kits::single_key::server`]
//! -----
//! 1. Of all writes of a key, the store keeps the one with the newest sequence, in whatever order
//!    they arrive. A write that is not newer than the stored record has no effect and is answered
//!    ok, as if it had been overwritten. Deletes leave a tombstone. The stored sequence is known
//!    before a write is carried out: the server remembers it, or asks the store.
//! 2. The store remembers a write without effect, too: the switch may have given a copy of it a
//!    newer sequence, and a restarted server must not carry that copy out.
//! 3. Replies carry the sequence of the stored record after the request, so that the switch detects
//!    an outdated entry, and the generation of the request.
//! 4. A read that carries the switch's record is answered with the newer of the two. The embedded
//!    one is not stored: the controller does that.
//! 5. A write that was sent first in an earlier incarnation of the switch, and of which the server
//!    knows nothing, is answered "unknown": the switch may have carried it out before it lost its
//!    memory.
//! 6. RESTORE is a write that need not be remembered: a copy of it is not newer than itself. It is
//!    answered when the store has it; FETCH is a read. If the store fails, neither is answered, so
//!    that the controller sends them again.
//!
//! `writes` has rules 1, 2, 5 and 6, `queries` rules 3 and 4. `offering` reports hot records, with
//! the list in `offers`, and `dropping` drops tombstones, with that in `tombstones`. `clients` is
//! what the switches remember of clients.

pub mod clients;
mod dropping;
mod offering;
mod offers;
mod queries;
mod sequences;
mod state;
mod tombstones;
mod writes;

use std::convert::Infallible;

use netkv_wire::{FrameView, Key, Op, Sequence, Stamp, Status, bits};

use crate::entries::{Roles, ServerEntry};
use crate::kits::single_key::ServerConfig;
use crate::kits::single_key::server::pending::PendingRequests;
use crate::kits::single_key::server::{self, Protocol, Write};
use crate::{Actions, Counts, Nanos, StoreResult};
use offers::Offers;
use queries::Query;
use sequences::Sequences;
pub use state::{Server, WriteBack, WriteBackStats};
use state::{Step, Timer};
use tombstones::Tombstones;

pub(crate) const ROLES: Roles = Roles {
    servers: &[ServerEntry { keeps_sequences: true, ..server::role::<WriteBack>("write-back") }],
    ..Roles::NONE
};

impl Protocol for WriteBack {
    type Config = ();
    /// All 0 if the frame has no stamp.
    type Tag = Stamp;
    type Step = Step;
    type KeyState = ();
    type Control = Infallible;
    type Query = Query;
    type Timer = Timer;

    fn new(config: &ServerConfig<()>, now: Nanos) -> Self {
        Self {
            guard_until: now.saturating_add(config.guard),
            sequences: Sequences::default(),
            offers: Offers::default(),
            tombstones: Tombstones::default(),
            pending: PendingRequests::new(config.server, config.first_request, config.retry),
            stats: WriteBackStats::default(),
        }
    }

    fn is_for_all(op: Op) -> bool {
        op == Op::Watermark
    }

    fn on_message(server: &mut Server, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        match frame.op() {
            Op::OfferReply => server.on_offer_reply(now, frame),
            Op::Restore => server.on_restore(now, frame, out),
            Op::Fetch => server.on_fetch(frame, out),
            Op::Watermark => server.on_watermark(now, frame, out),
            _ => server.reject_message(frame, out),
        }
    }

    /// A request is stamped, and if it is a write, the switch has numbered it.
    fn accepts(frame: &FrameView<'_>) -> bool {
        let numbered = |stamp: Stamp| !frame.op().is_write() || stamp.sequence.number != 0;
        frame.stamp().is_some_and(numbered)
    }

    /// The incarnation that the request has from the switch, and no number: it states nothing about
    /// the record.
    fn refusal(frame: &FrameView<'_>) -> Option<Stamp> {
        let incarnation = frame.stamp()?.sequence.incarnation;
        Some(Stamp { sequence: Sequence { incarnation, number: 0 }, ..Stamp::default() })
    }

    fn on_get(server: &mut Server, _: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        server.query(frame, out);
    }

    /// Rule 5.
    fn is_unknown(server: &mut Server, frame: &FrameView<'_>, is_new: bool) -> bool {
        let past = frame.stamp().is_some_and(|stamp| stamp.has(bits::PAST));
        let unknown = past && is_new;
        server.protocol.stats.unknown += u64::from(unknown);
        unknown
    }

    fn tag(&self, frame: &FrameView<'_>, _: Nanos) -> Stamp {
        frame.stamp().unwrap_or_default()
    }

    fn start_write(
        server: &mut Server,
        now: Nanos,
        key: &Key,
        write: Write<Stamp>,
        out: &mut Actions,
    ) {
        server.start_guarded(now, key, write, out);
    }

    fn on_copy(
        server: &mut Server,
        _: Nanos,
        frame: &FrameView<'_>,
        ended: Option<Status>,
        out: &mut Actions,
    ) {
        match ended {
            Some(Status::Ok) => server.answer_copy(frame, out),
            Some(status) => server.refuse(frame, status, out),
            None => {}
        }
    }

    fn on_queried(
        server: &mut Server,
        now: Nanos,
        query: Query,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        server.on_queried(now, query, result, out);
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
            Step::Looking(write) => server.on_looked(now, key, write, result, out),
            Step::Writing(write) => server.on_written(now, key, write, result, out),
            Step::Noting(write) => server.on_noted(now, key, write, result, out),
            Step::Checking(tombstone) => server.on_checked(tombstone, result, out),
            Step::Dropping(tombstone) => server.on_dropped(tombstone, result),
        }
    }

    fn on_timer(server: &mut Server, now: Nanos, timer: Timer, out: &mut Actions) {
        match timer {
            Timer::Retry(request) => server.send_again(now, request, out),
            Timer::OfferAgain(key) => server.protocol.offers.cool_down_is_over(&key),
            Timer::Tombstones => server.drop_tombstones(now, out),
        }
    }

    fn add_counts(&self, into: &mut Counts) {
        into.extend(self.stats.list());
        into.push(("tombstones", self.tombstones.len() as u64));
    }
}
