//! The state of a server of a write-back cache.

use netkv_wire::{Key, Stamp};

use super::offers::Offers;
use super::sequences::Sequences;
use super::tombstones::{Tombstone, Tombstones};
use crate::Nanos;
use crate::common::stats::counts;
use crate::kits::single_key;
use crate::kits::single_key::server::Write;
use crate::kits::single_key::server::pending::PendingRequests;

/// A storage server.
pub type Server = single_key::Server<WriteBack>;

counts! {
    /// Counts of a server since it started.
    pub struct WriteBackStats {
        /// Records offered to the controller, retries not counted.
        offers,
        /// Records of the controller that were newer than the stored ones.
        restored,
        /// Writes of clients without effect, because a newer one was stored before.
        guarded,
        /// Writes answered with "unknown".
        unknown,
        /// Tombstones dropped.
        dropped_tombstones,
    }
}

/// The state of a server for the write-back cache.
#[derive(Debug)]
pub struct WriteBack {
    pub(super) guard_until: Nanos,
    pub(super) sequences: Sequences,
    pub(super) offers: Offers,
    pub(super) tombstones: Tombstones,
    pub(super) pending: PendingRequests,
    pub(super) stats: WriteBackStats,
}

/// What is under way for a key.
#[derive(Debug)]
pub enum Step {
    /// Reads the stored sequence, before a write.
    Looking(Write<Stamp>),
    /// Stores a write that is newer than the stored record.
    Writing(Write<Stamp>),
    /// Stores only the origin of a write that is not newer, and so has no effect.
    Noting(Write<Stamp>),
    /// Checks that a tombstone is still stored.
    Checking(Tombstone),
    /// Deletes a tombstone.
    Dropping(Tombstone),
}

/// Timers of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// This request may have to be sent again.
    Retry(u32),
    /// This key may be offered again.
    OfferAgain(Key),
    /// More tombstones may be dropped.
    Tombstones,
}

impl Server {
    /// Counts of the protocol since the start.
    pub fn write_back_stats(&self) -> &WriteBackStats {
        &self.protocol.stats
    }

    /// Number of tombstones that the server knows of.
    pub fn tombstones(&self) -> usize {
        self.protocol.tombstones.len()
    }
}
