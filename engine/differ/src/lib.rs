//! The differential fuzzer: random programs, control state and packets through two executors,
//! which must agree in everything that can be seen.
//!
//! ```text
//!   program               random P4 programs as source text
//!   pool                  the values of a case, shared by tables and packets
//!   state, entries,       what the control plane writes
//!   control
//!   walk, solve           frames that a program likes: through its parser and ingress
//!   packets, checksum     variations of them, and broken ones
//!   case                  a program, state and packets from one seed
//!   compare               two switches, step by step
//!   reduce, source        a failing case made small
//!   report                and shown
//!   campaign              many cases on all cores
//!   sample                packets and state for another switch
//!   target                what the cargo-fuzz targets do with bytes
//! ```
//!
//! Everything repeats from a seed. There is no clock in a case; only a campaign ends by time.

#![forbid(unsafe_code)]

mod bits;
mod campaign;
mod case;
mod checksum;
mod compare;
mod control;
mod entries;
mod eval;
mod packets;
mod pool;
pub mod program;
mod reduce;
mod report;
mod rng;
mod sample;
mod solve;
mod source;
mod state;
pub mod target;
mod visit;
mod walk;

pub use campaign::{Finding, Plan, Progress, Subject, generated, resident_bytes};
pub use case::{Case, Step};
pub use compare::{Difference, Failure, Load, Sides, Work, run};
pub use control::{Matches, Request};
pub use packets::{PacketMaker, Recorded, recorded_in_stf};
pub use pool::Pool;
pub use reduce::{Reduced, reduce};
pub use report::text as report;
pub use rng::Rng;
pub use sample::sample;
pub use state::StateMaker;
