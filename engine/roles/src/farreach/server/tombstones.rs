//! Tombstones of deleted keys, and when they are dropped (docs/schemes/farreach.md, "Server", rule
//! 6).
//!
//! A tombstone keeps older records of its key out of the store. It may be dropped when no such
//! record is left: after some WATERMARKs, snapshots and clients have none, and no frame is in the
//! network for longer than ten minutes.
//!
//! A server does not store the list of its tombstones. One that is not in the list (from before a
//! restart, or because there were too many) is noted again when its key is read. Until then it
//! costs a record in the store, but no write.

use std::collections::VecDeque;

use netkv_wire::{FrameView, Key, Sequence, Status, is_newer};
use rustc_hash::FxHashMap;

use super::{Server, Step, Timer};
use crate::common::applied::is_forgotten;
use crate::single_key::server::state::Call;
use crate::{Actions, FORGET, MILLISECOND, Nanos, StoreCall, StoreOp, StoreResult};

/// WATERMARKs after which no snapshot and no client has a record from before a tombstone. A client
/// that preserved one just before may have received the next RELEASE already, and drops it with the
/// third after that, at the latest. A WATERMARK follows a RELEASE that all clients have answered,
/// and one may have been under way when the tombstone was made.
const WATERMARKS: u64 = 5;
/// Tombstones in the list at most; beyond, the oldest is removed from it.
const MAX_TOMBSTONES: usize = 1 << 20;
/// Number of tombstones dropped at once, before a pause, so that requests do not wait long.
const PORTION: usize = 64;
const PAUSE: Nanos = MILLISECOND;

/// A tombstone in the store.
#[derive(Debug, Clone, Copy)]
pub struct Tombstone {
    pub(super) key: Key,
    /// The sequence of the delete.
    pub(super) sequence: Sequence,
    made: Nanos,
    /// WATERMARKs counted when it was made.
    watermarks: u64,
}

/// The tombstones that a server knows of.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    known: FxHashMap<Key, Sequence>,
    /// In the order in which they were made. An entry that does not match the sequence in `known`
    /// has been overwritten.
    order: VecDeque<Tombstone>,
    watermarks: u64,
    /// Number of the last WATERMARK, and the second in which it came.
    last: Option<(u32, u32)>,
}

impl Tombstones {
    /// Number of tombstones that are known.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The store has this tombstone now.
    pub(super) fn add(&mut self, now: Nanos, key: &Key, sequence: Sequence) {
        if self.known.get(key).is_some_and(|known| !sequence.is_newer(*known)) {
            return;
        }
        self.known.insert(*key, sequence);
        self.make_room();
        let watermarks = self.watermarks;
        self.order.push_back(Tombstone { key: *key, sequence, made: now, watermarks });
    }

    fn make_room(&mut self) {
        if self.order.len() < MAX_TOMBSTONES {
            return;
        }
        if self.known.len() <= MAX_TOMBSTONES / 2 {
            let known = &self.known;
            self.order.retain(|it| known.get(&it.key) == Some(&it.sequence));
        } else if let Some(oldest) = self.order.pop_front() {
            self.forget(&oldest);
        }
    }

    /// The key has a value again.
    pub(super) fn overwritten(&mut self, key: &Key) {
        self.known.remove(key);
    }

    fn forget(&mut self, tombstone: &Tombstone) {
        if self.is_known(tombstone) {
            self.known.remove(&tombstone.key);
        }
    }

    fn is_known(&self, tombstone: &Tombstone) -> bool {
        self.known.get(&tombstone.key) == Some(&tombstone.sequence)
    }

    /// Counts a WATERMARK with this number; false if it was counted before.
    fn count(&mut self, request: u32, second: u32) -> bool {
        if let Some((last, counted)) = self.last
            && !is_forgotten(counted, second)
            && !is_newer(request, last)
        {
            return false;
        }
        self.last = Some((request, second));
        self.watermarks += 1;
        true
    }

    /// Takes the first tombstone that may be dropped at `now`.
    fn take_due(&mut self, now: Nanos) -> Option<Tombstone> {
        while let Some(first) = self.order.front().copied() {
            let passed = first.watermarks + WATERMARKS <= self.watermarks;
            let old = now.saturating_sub(first.made) >= FORGET;
            if self.is_known(&first) && !(passed && old) {
                return None;
            }
            self.order.pop_front();
            if self.is_known(&first) {
                return Some(first);
            }
        }
        None
    }
}

impl Server {
    /// Number of tombstones that the server knows of.
    pub fn tombstones(&self) -> usize {
        self.protocol.tombstones.len()
    }

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
                self.protocol.tombstones.order.push_back(tombstone);
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
            StoreResult::Failed => self.protocol.tombstones.order.push_back(tombstone),
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
            self.protocol.tombstones.order.push_back(tombstone);
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
