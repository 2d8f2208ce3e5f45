//! A server with its records of entries, and what a scheme adds to it.

use std::fmt::Debug;

use netkv_wire::{FrameView, Key, Op};
use rustc_hash::FxHashMap;

use super::layers::{Layer, PerLayer};
use super::state::{ControlReply, Record};
use crate::common::stats::counts;
use crate::common::window::Window;
use crate::kits::single_key;
use crate::kits::single_key::server::pending::PendingRequests;
use crate::{Actions, Nanos, SECOND};

/// A storage server.
pub type Server<L> = single_key::Server<WriteThrough<L>>;

/// The layers of switches in front of a server. The methods are for schemes with an upper layer.
pub trait Layers: Debug + Default + Send + Sync + Sized + 'static {
    /// The layers that have entries.
    const LAYERS: &'static [Layer] = &[Layer::Lower];

    /// Whether an UPDATE after a write is sent again until it is answered, while further writes of
    /// the key wait. If not, it is sent once: the entry stays invalid if it is lost, until the next
    /// write. The first UPDATE of an entry is always awaited, since the controller waits for it.
    const AWAITS_UPDATES: bool = true;

    /// The server has started at `now`; it may set timers.
    fn on_start(_server: &mut Server<Self>, _now: Nanos) {}

    /// `Timer::Start` is due.
    fn on_start_timer(_server: &mut Server<Self>, _now: Nanos, _out: &mut Actions) {}

    /// Whether there is a record of each entry of the upper layer.
    fn knows_upper(&self) -> bool {
        true
    }

    /// A request to a switch of the upper layer is unanswered after so many transmissions.
    fn on_unanswered(_server: &mut Server<Self>, _now: Nanos, _tries: u32, _out: &mut Actions) {}

    /// Whether messages with this operation are for every server, whatever their key is.
    fn is_for_all(_op: Op) -> bool {
        false
    }

    /// Handles a message of the scheme's own.
    fn on_message(
        server: &mut Server<Self>,
        _now: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        server.reject_message(frame, out);
    }
}

/// Settings of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// How long ADMIT holds writes if no INSTALL arrives.
    pub lease: Nanos,
}

impl Default for Config {
    fn default() -> Self {
        Self { lease: SECOND }
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

/// The state of a server for the caches of switches.
#[derive(Debug)]
pub struct WriteThrough<L> {
    pub(super) guard_until: Nanos,
    pub(crate) records: PerLayer<FxHashMap<Key, Record>>,
    pub(crate) layers: L,
    pub(super) control_windows: FxHashMap<u16, Window<ControlReply>>,
    pub(crate) pending: PendingRequests,
    pub(super) stats: CacheStats,
}

impl<L: Layers> Server<L> {
    /// Counts of the protocol since the start.
    pub fn cache_stats(&self) -> &CacheStats {
        &self.protocol.stats
    }

    /// Number of keys that the server believes cached.
    pub fn cached_keys(&self) -> usize {
        self.protocol.records[Layer::Lower].len()
    }
}
