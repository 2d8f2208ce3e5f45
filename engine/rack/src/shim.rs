//! The shim of a storage server, whichever protocol it speaks.

use netkv_roles::{Actions, Applied, CallId, Nanos, Server, StoreResult, multiget};
use serde_json::{Value, json};

/// A server of single keys, or one of multigets.
// Few exist and all are used all the time: what a box would save is not worth its detour.
#[allow(clippy::large_enum_variant)]
pub enum Shim {
    /// Requests of one key.
    Single(Server),
    /// Requests of several.
    Multiget(multiget::Server),
}

/// What a shim is made of.
#[derive(Debug, Clone, Copy)]
pub enum ShimConfig {
    /// Requests of one key.
    Single(netkv_roles::ServerConfig),
    /// Requests of several.
    Multiget(multiget::ServerConfig),
}

impl ShimConfig {
    /// The same with another clock; see the roles' `epoch`.
    #[must_use]
    pub fn with_epoch(mut self, epoch: Nanos) -> Self {
        match &mut self {
            Self::Single(config) => config.epoch = epoch,
            Self::Multiget(config) => config.epoch = epoch,
        }
        self
    }
}

/// Whichever it is.
macro_rules! any {
    ($shim:expr, $server:ident => $what:expr) => {
        match $shim {
            Shim::Single($server) => $what,
            Shim::Multiget($server) => $what,
        }
    };
}

impl Shim {
    /// A server that starts over a store that remembers what it has `applied`.
    pub fn restore(config: ShimConfig, now: Nanos, applied: &Applied) -> Self {
        match config {
            ShimConfig::Single(config) => Self::Single(Server::restore(config, now, applied)),
            ShimConfig::Multiget(config) => {
                Self::Multiget(multiget::Server::restore(config, now, applied))
            }
        }
    }

    /// Which server it is, from 0.
    pub fn index(&self) -> u16 {
        any!(self, server => server.config().server)
    }

    /// Takes one frame.
    pub fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        any!(self, server => server.on_frame(now, bytes, out));
    }

    /// The store has finished a call.
    pub fn on_stored(&mut self, now: Nanos, call: CallId, it: StoreResult<'_>, out: &mut Actions) {
        any!(self, server => server.on_stored(now, call, it, out));
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Nanos, out: &mut Actions) {
        any!(self, server => server.on_timer(now, out));
    }

    /// When to call [`Shim::on_timer`], if nothing happens before.
    pub fn deadline(&self) -> Option<Nanos> {
        any!(self, server => server.deadline())
    }

    /// Serves `factor` times slower than its service rate says; nothing without a rate.
    pub fn slow(&mut self, factor: f64) {
        any!(self, server => server.slow(factor));
    }

    /// Counts as samples have them.
    pub(crate) fn counts(&self) -> Value {
        let stats = any!(self, server => server.stats());
        let [tombstones, cached, busy] = match self {
            Self::Single(server) => [server.tombstones(), server.cached_keys(), server.busy_keys()],
            // They keep nothing of a key but what is under way.
            Self::Multiget(server) => [0, 0, server.busy_keys()],
        };
        json!({
            "served": stats.served,
            "reads": stats.reads,
            "writes": stats.writes,
            "deletes": stats.deletes,
            "dropped": stats.dropped,
            "overloaded": stats.overloaded,
            "duplicates": stats.duplicates,
            "late": stats.late,
            "malformed": stats.malformed,
            "wrong_partition": stats.wrong_partition,
            "unexpected": stats.unexpected,
            "slow_writes": stats.slow_writes,
            "updates": stats.updates,
            "retries": stats.retries,
            "failures": stats.failures,
            "offers": stats.offers,
            "restored": stats.restored,
            "guarded": stats.guarded,
            "unknown": stats.unknown,
            "dropped_tombstones": stats.dropped_tombstones,
            "tombstones": tombstones,
            "cached_keys": cached,
            "busy_keys": busy,
        })
    }
}
