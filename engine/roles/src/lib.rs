//! The protocol roles: client and server shim, as state machines without I/O.
//!
//! Frames, timers and storage completions go in; frames, storage calls and the time of the next
//! timer come out through [`Actions`]. No role reads a clock or opens a socket, so the live and
//! the simulated driver run the same code. Time is nanoseconds since a moment that the driver
//! chooses; it must not run backwards.

#![forbid(unsafe_code)]

mod actions;
mod client;
mod memory;
mod mutation;
mod server;
mod stats;
mod timers;
mod value;

pub use netkv_checker::{Summary, Violation, ViolationKind, WriteId};

pub use actions::{Actions, CallId, StoreCall, StoreOp, StoreResult};
pub use client::{Client, ClientConfig, VerifyReport};
pub use memory::MemoryStore;
#[cfg(feature = "mutations")]
pub use mutation::Mutation;
pub use server::{Scheme, Server, ServerConfig, WINDOW};
pub use stats::{ClientCounts, ClientStats, ServerStats};
pub use timers::Backoff;
pub use value::{fill_value, initial_value, read_writer};

/// Nanoseconds since a moment that the driver chooses.
pub type Nanos = u64;

/// Nanoseconds of a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// Nanoseconds of a second.
pub const SECOND: Nanos = 1_000_000_000;

/// A first request number for a sender that starts at `unix_nanos` since the epoch.
///
/// A sender that restarts must start above every number it has used, or servers and switches
/// take its requests for late copies. The clock gives that without memory, as long as the sender
/// has used at most 1024 numbers a second since its last start; emulate more clients where the
/// rate is higher. It wraps every 48 days; serial-number comparison covers half of that.
pub const fn first_request(unix_nanos: u128) -> u32 {
    (unix_nanos * 1024 / SECOND as u128) as u32
}
