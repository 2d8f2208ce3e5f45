//! The differential fuzzer: it runs random programs, control-plane state and packets on two
//! executors, whose observable results must be equal.
//!
//! ```text
//!   program               generates random P4 programs as source text
//!   value_pool            the values of a case, shared by tables and packets
//!   state, entries,       generates requests of a control plane
//!   request
//!   path, path_builder,   generates packets that take a chosen path through parser and ingress
//!   solve
//!   packets, checksum     mutates these packets
//!   case                  a program, its state and packets, from one seed
//!   compare               runs a case on both executors
//!   reduce, source_edits  test-case reduction
//!   report                the report of a reduced case
//!   campaign              runs many cases on all cores
//!   sample                state and packets as files for another switch
//!   fuzz_targets          the functions behind the targets of cargo-fuzz
//!   traversal, eval, bits access to a program's graphs, expressions and bit strings
//! ```
//!
//! A seed determines a case completely. Only a campaign uses a clock, for its time limit.

#![forbid(unsafe_code)]

mod bits;
mod campaign;
mod case;
mod checksum;
mod compare;
mod entries;
mod eval;
pub mod fuzz_targets;
mod packets;
mod path;
mod path_builder;
pub mod program;
mod reduce;
mod report;
mod request;
mod rng;
mod sample;
mod solve;
mod source_edits;
mod state;
mod traversal;
mod value_pool;

pub use campaign::{Campaign, Finding, Progress, SubjectProgram, generated, resident_bytes};
pub use case::{Case, Step};
pub use compare::{CaseStatistics, Difference, Executors, Failure, LoadProgram, run};
pub use packets::{PacketGenerator, Recorded, recorded_in_stf};
pub use reduce::{Reduced, reduce};
pub use report::text as report;
pub use request::{Matches, Request};
pub use rng::Rng;
pub use sample::{Medium, sample};
pub use state::StateGenerator;
pub use value_pool::ValuePool;
