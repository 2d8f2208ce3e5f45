//! Drops tombstones from the store.

use netkv_wire::{FrameView, Key, Sequence, Status};

use super::state::{Server, Step, Timer};
use super::tombstones::Tombstone;
use crate::kits::single_key::server::state::Call;
use crate::{Actions, MILLISECOND, Nanos, StoreCall, StoreOp, StoreResult};

/// Number of tombstones dropped at once, before a pause, so that requests do not wait long.
const PORTION: usize = 64;
const PAUSE: Nanos = MILLISECOND;

impl Server {
    /// WATERMARK: no client and no switch has a record older than the snapshot in force.
    pub(super) fn on_watermark(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let second = self.config.second(now);
        // During the guard time, it may be a copy of one that was counted before a restart.
        let early = now < self.protocol.guard_until;
        if !early && self.protocol.tombstones.count(frame.request(), second) {
            self.drop_tombstones(now, out);
        }
        self.send_reply(frame.reply(Status::Ok), out);
    }

    /// Drops tombstones that may be dropped, up to [`PORTION`] at once.
    pub(super) fn drop_tombstones(&mut self, now: Nanos, out: &mut Actions) {
        for _ in 0..PORTION {
            let Some(tombstone) = self.protocol.tombstones.take_due(now) else {
                return;
            };
            if self.keys.contains_key(&tombstone.key) {
                self.protocol.tombstones.defer(tombstone);
                continue;
            }
            // The list also has tombstones found by reads, whose results may arrive after a later
            // write.
            self.get_for_step(&tombstone.key, Step::Checking(tombstone), out);
        }
        self.timers.set(now + PAUSE, Timer::Tombstones);
    }

    /// The store has read a key whose tombstone may be dropped.
    pub(super) fn on_checked(
        &mut self,
        tombstone: Tombstone,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        match result {
            StoreResult::NotFound(found) if found == tombstone.sequence => {
                self.drop_tombstone(tombstone, out)
            }
            StoreResult::Failed => self.protocol.tombstones.defer(tombstone),
            _ => self.protocol.tombstones.forget(&tombstone),
        }
    }

    fn drop_tombstone(&mut self, tombstone: Tombstone, out: &mut Actions) {
        let id = self.calls.add(Call::Key(tombstone.key));
        out.call(&StoreCall { op: StoreOp::Delete, ..StoreCall::get(id, tombstone.key) });
        self.set_step(&tombstone.key, Step::Dropping(tombstone));
    }

    /// The store has dropped a tombstone.
    pub(super) fn on_dropped(&mut self, tombstone: Tombstone, result: StoreResult<'_>) {
        if result == StoreResult::Failed {
            self.protocol.tombstones.defer(tombstone);
            return;
        }
        self.protocol.stats.dropped_tombstones += 1;
        self.protocol.tombstones.forget(&tombstone);
        self.protocol.sequences.set(&tombstone.key, Sequence::default());
    }

    /// Notes the tombstone that a read has found.
    pub(super) fn note_tombstone(&mut self, now: Nanos, key: &Key, sequence: Sequence) {
        if sequence != Sequence::default() {
            self.protocol.tombstones.add(now, key, sequence);
        }
    }
}
