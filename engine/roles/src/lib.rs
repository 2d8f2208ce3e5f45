//! The protocol roles: storage servers, clients and coordinators, as state machines without I/O.
//!
//! Frames, timers and storage completions go in; frames, storage calls and the time of the next
//! timer come out through [`Actions`]. No role reads a clock or opens a socket, so the live and
//! the simulated driver run the same code. Time is nanoseconds since a moment that the driver
//! chooses; it must not run backwards.
//!
//! Drivers know the traits of [`role`] and the tables of [`registry`]. Behind them each protocol
//! has a module of its own:
//!
//! | module | protocol |
//! |---|---|
//! | [`plain`] | single keys without a cache |
//! | [`memcached`] | single keys in memcached's binary protocol over UDP |
//! | [`netcache`] | single keys behind a write-through cache in the switch |
//! | [`distcache`] | single keys behind write-through caches in two layers of switches |
//! | [`farreach`] | single keys behind a write-back cache in the switch |
//! | [`distreach`] | single keys behind a write-back cache in a chain of switches |
//! | [`multiget`] | several keys at once, in three architectures |
//!
//! [`single_key`] is shared by those of single keys, [`common`] by all.

#![forbid(unsafe_code)]

use netkv_wire::Key;
use netkv_workload::key_id;

mod common;
pub mod distcache;
pub mod distreach;
pub mod farreach;
pub mod memcached;
pub mod multiget;
pub mod netcache;
pub mod plain;
pub mod records;
pub mod registry;
pub mod role;
pub mod single_key;

pub use netkv_checker::{Summary, Violation, ViolationKind, WriteId};

pub use common::actions::{Actions, CallId, StoreCall, StoreOp, StoreResult};
pub use common::applied::{Applied, Block, FORGET, MAX_DEADLINE, Origin};
pub use common::load::{ClientConfig, VerifyReport};
pub use common::memory::MemoryStore;
pub use common::slots::Slots;
pub use common::stats::{ClientCounts, ClientStats, Counts, ServerStats};
pub use common::timers::Backoff;
pub use common::user::{Completion, Outcome, UserOp};
pub use common::value::{fill_value, initial_value, read_writer};
pub use common::window::WINDOW;
pub use role::{Client, Coordinator, Frames, Server, Work};

/// Nanoseconds since a moment that the driver chooses.
pub type Nanos = u64;

/// Nanoseconds of a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// Nanoseconds of a second.
pub const SECOND: Nanos = 1_000_000_000;

/// Prefix of the keys of a store's own records.
pub const RESERVED: [u8; 6] = *b"netkv:";

/// Whether a key is one of a store's own records, which clients may not access. Keys of the
/// keyspace never are, even with that prefix.
pub fn is_reserved(key: &Key) -> bool {
    key.starts_with(&RESERVED) && key_id(key).is_none()
}

/// A first request number for a sender that starts at `unix_nanos` since the epoch.
///
/// A sender that restarts must start above every number it has used, or servers and switches take
/// its requests for late copies. The clock provides such a number without stored state if the
/// sender has used at most 2^20 numbers a second since its last start, which is more than any can.
/// The numbers wrap every 68 minutes. That is long enough: numbers older than [`FORGET`] are never
/// compared with, and within that time less than a sixth of the range is used.
pub const fn first_request(unix_nanos: u128) -> u32 {
    ((unix_nanos << 20) / SECOND as u128) as u32
}
