//! The data plane: a v1model switch that runs the IR of a P4 program.
//!
//! [`Switch`] processes frames exactly as bmv2 does. Its control-plane API uses P4Info ids and
//! follows the rules of P4Runtime. The crate has no I/O, no clock and no threads of its own: the
//! caller passes the time with each frame, and random numbers come from a seed.
//!
//! ```text
//! frames                                         control plane
//!    │                                                │
//! switch ── validation (of the program)         control_plane
//!    │                                                │
//! packet_processing, packet_copies, packet_crossing:  │
//!    │    order of the blocks, drops, loops, clones,  │
//!    │    multicast, packets for other threads        │
//!    │                                                │
//! executor: the interface for running one graph       │
//!    └── interpreter, or the compiled executor        │
//!             │                                       │
//! pipeline_instance ── objects: tables, registers, counters, meters
//! ```
//!
//! - `shared_switch`, `crossing`, `crossing_queues`, `in_flight`: pipelines on threads of their
//!   own, and the packets between them;
//! - `graph`, `standard_metadata`: the six graphs of a program, and values of v1model;
//! - `frame`, `packet`, `requests`, `output`: a received frame, a packet in the switch, and the
//!   frames that leave it;
//! - `header_codec`, `bits`, `arithmetic`, `wide`, `hash`: encoding and arithmetic;
//! - `trace_recorder`, `trace`: the steps of a packet, as data and as text;
//! - `stf`: packet tests in files.

#![forbid(unsafe_code)]

mod arithmetic;
mod bits;
mod control_plane;
mod counters;
mod crossing;
mod crossing_queues;
mod digest;
mod error;
mod executor;
mod frame;
mod graph;
mod hash;
mod header_codec;
mod in_flight;
mod interpreter;
mod memory;
mod meters;
mod objects;
mod output;
mod packet;
mod packet_copies;
mod packet_crossing;
mod packet_processing;
mod pipeline_instance;
mod random;
mod registers;
mod replication;
mod requests;
mod shared_switch;
mod standard_metadata;
mod statistics;
pub mod stf;
mod switch;
mod tables;
mod trace;
mod trace_recorder;
mod validation;
mod value_sets;
mod wide;

pub use arithmetic::{binary_wide, shift_wide};
pub use bits::{BitWriter, mask};
pub use control_plane::{EntryAction, EntryState, GroupMember, TableEntry, WeightedAction};
pub use counters::CounterData;
pub use crossing_queues::{CROSSING_QUEUE, CrossingQueues};
pub use digest::{DigestMessage, MAX_QUEUED_DIGESTS};
pub use error::{ControlCode, ControlError, ProgramError};
pub use executor::{Executor, Stop, Tally};
pub use frame::{Batch, Frame};
pub use graph::Graph;
pub use header_codec::HeaderPlan;
pub use in_flight::InFlight;
pub use interpreter::Interpreter;
pub use meters::MeterConfig;
pub use objects::{ApplyResult, Counts, Objects};
pub use output::Output;
pub use packet::{MAX_PASSES, MAX_PASSES_PER_FRAME, Packet, State};
pub use pipeline_instance::{PIPELINES, pipeline_of};
pub use random::Random;
pub use registers::{RegisterLayout, Registers};
pub use replication::{CloneSession, CopyTarget, Replica};
pub use requests::{NO_LIMIT, NO_LIST, Requests};
pub use shared_switch::{SharedSwitch, SwitchGuard};
pub use standard_metadata::{DROP_PORT, instance};
pub use statistics::Statistics;
pub use switch::{BATCH, FailedAssertion, Switch, SwitchOptions};
pub use tables::{ExactMap, HASH_KEYS, IntervalMap};
pub use trace::{Event, EventKind, Named, Trace};
pub use trace_recorder::Recorder;
