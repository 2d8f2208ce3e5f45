//! The tombstones of deleted keys that a server knows of, and which of them may be dropped.
//!
//! A tombstone keeps older records of its key out of the store. It may be dropped when no such
//! record is left: after some WATERMARKs, snapshots and clients have none, and no frame is in the
//! network for longer than ten minutes.
//!
//! A server does not store the list of its tombstones. One that is not in the list (from before a
//! restart, or because there were too many) is noted again when its key is read. Until then it
//! costs a record in the store, but no write.

use std::collections::VecDeque;

use netkv_wire::{Key, Sequence, is_newer};
use rustc_hash::FxHashMap;

use crate::common::request_numbers::is_forgotten;
use crate::{FORGET, Nanos};

/// WATERMARKs after which no snapshot and no client has a record from before a tombstone. A client
/// that preserved one just before may have received the next RELEASE already, and drops it with the
/// third after that, at the latest. A WATERMARK follows a RELEASE that all clients have answered,
/// and one may have been under way when the tombstone was made.
const WATERMARKS: u64 = 5;
/// Tombstones in the list at most; beyond, the oldest is removed from it.
const MAX_TOMBSTONES: usize = 1 << 20;

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

    pub(super) fn forget(&mut self, tombstone: &Tombstone) {
        if self.is_known(tombstone) {
            self.known.remove(&tombstone.key);
        }
    }

    fn is_known(&self, tombstone: &Tombstone) -> bool {
        self.known.get(&tombstone.key) == Some(&tombstone.sequence)
    }

    /// Counts a WATERMARK with this number; false if it was counted before.
    pub(super) fn count(&mut self, request: u32, second: u32) -> bool {
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
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<Tombstone> {
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

    /// The tombstone could not be dropped now; it is the last one again.
    pub(super) fn defer(&mut self, tombstone: Tombstone) {
        self.order.push_back(tombstone);
    }
}
