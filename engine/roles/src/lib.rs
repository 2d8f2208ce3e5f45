//! The protocol roles: client and server shim, as state machines without I/O.
//!
//! Frames, timers and storage completions go in; frames, storage calls and the time of the next
//! timer come out through [`Actions`]. No role reads a clock or opens a socket, so the live and
//! the simulated driver run the same code. Time is nanoseconds since a moment that the driver
//! chooses; it must not run backwards.

#![forbid(unsafe_code)]

use netkv_wire::Key;
use netkv_workload::key_id;

mod actions;
mod applied;
mod client;
mod memory;
mod mutation;
mod server;
mod stats;
mod timers;
mod user;
mod value;

pub use netkv_checker::{Summary, Violation, ViolationKind, WriteId};

pub use actions::{Actions, CallId, StoreCall, StoreOp, StoreResult};
pub use applied::{Applied, Block, FORGET, LONGEST_DEADLINE, Origin};
pub use client::{Client, ClientConfig, ClientRole, Preserved, VerifyReport};
pub use memory::MemoryStore;
#[cfg(feature = "mutations")]
pub use mutation::Mutation;
pub use server::{Scheme, Server, ServerConfig, WINDOW};
pub use stats::{ClientCounts, ClientStats, ServerStats};
pub use timers::Backoff;
pub use user::{Completion, Outcome, UserOp};
pub use value::{fill_value, initial_value, read_writer};

/// Nanoseconds since a moment that the driver chooses.
pub type Nanos = u64;

/// Nanoseconds of a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// Nanoseconds of a second.
pub const SECOND: Nanos = 1_000_000_000;

/// What keys begin with under which stores keep records of their own.
pub const RESERVED: [u8; 6] = *b"netkv:";

/// Whether a key is one of a store's own records, so that no client may touch it. Keys of the
/// keyspace never are, whatever they begin with.
pub fn is_reserved(key: &Key) -> bool {
    key.starts_with(&RESERVED) && key_id(key).is_none()
}

/// A first request number for a sender that starts at `unix_nanos` since the epoch.
///
/// A sender that restarts must start above every number it has used, or servers and switches
/// take its requests for late copies. The clock gives that without memory, as long as the sender
/// has used at most 2^20 numbers a second since its last start, which is more than any can. The
/// numbers wrap every 68 minutes. That is long enough: what is older than [`FORGET`] is never
/// compared with, and in that time they go through less than a sixth of their range.
pub const fn first_request(unix_nanos: u128) -> u32 {
    ((unix_nanos << 20) / SECOND as u128) as u32
}
