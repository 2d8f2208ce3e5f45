//! The protocol roles: storage servers, clients and coordinators, as state machines without I/O.
//!
//! Frames, timers and storage completions go in; frames, storage calls and the time of the next
//! timer come out through [`Actions`]. No role reads a clock or opens a socket, so the live and
//! the simulated driver run the same code. Time is nanoseconds since a moment that the driver
//! chooses; it must not run backwards.
//!
//! Drivers know the traits of [`role`], and find roles by name in [`registry`]. A scheme has a
//! module of its own. It uses [`kits`] and `common`, and never another scheme.

#![forbid(unsafe_code)]

mod common;
mod entries;
pub mod kits;
mod options;
pub mod records;
pub mod registry;
pub mod role;

pub use netkv_checker::{Summary, Violation, ViolationKind, WriteId};

pub use common::actions::{Actions, CallId, StoreCall, StoreOp, StoreResult};
pub use common::applied::{Applied, Block, Origin};
pub use common::load::{ClientConfig, Load, VerifyReport};
pub use common::memory::MemoryStore;
pub use common::request_numbers::{FORGET, MAX_DEADLINE, WINDOW, first_request};
pub use common::slots::Slots;
pub use common::stats::{ClientCounts, ClientStats, Counts, ServerStats};
pub use common::time::{MILLISECOND, Nanos, SECOND};
pub use common::timers::Backoff;
pub use common::user::{Completion, Outcome, UserOp};
pub use common::value::{fill_value, initial_value, read_writer};
pub use entries::{ClientEntry, CoordinatorEntry, Made, Restore, ServerEntry};
pub use options::{ClientOptions, CoordinatorOptions, Keyspace, ServerOptions};
pub use records::{RESERVED, is_reserved};
pub use role::{Client, Coordinator, Frames, LoadClient, Server, UserClient, Work};

/// Declares the modules of the schemes, and lists their roles.
macro_rules! schemes {
    ($($scheme:ident),*) => {
        $(pub mod $scheme;)*

        static SCHEMES: &[entries::Roles] = &[$($scheme::ROLES),*];
    };
}

// Each is a folder with a `ROLES`. `cargo fmt` does not find it, but `make fmt` does.
schemes![netcache, distcache, farreach, distreach, netmc, climc, coordimc];
