//! The data plane: a v1model switch that runs the IR of a P4 program.
//!
//! [`Switch`] takes frames and gives frames, exact to bmv2's behaviour; its control interface
//! speaks in P4Info ids and follows P4Runtime's rules. No I/O, no clock, no threads: time comes
//! with each frame, randomness from a seed.
//!
//! ```text
//!   switch, pipe                    one program, and the pipelines that run it
//!   pipeline, copies, replication   order of the blocks, copies, drops, loops
//!   executor                        the seam: who runs one graph
//!   interpreter, operations         the executor that is obviously right
//!     prepare, lower, step, expr    the form that it runs
//!   objects, tables, registers …    what outlives a packet, shared by all executors
//!   control                         what P4Runtime may ask for
//!   recorder, trace                 every step of a packet, as data and as text
//!   stf                             packet tests as files
//! ```

#![forbid(unsafe_code)]

mod arithmetic;
mod bits;
mod check;
mod control;
mod copies;
mod counters;
mod digest;
mod error;
mod executor;
mod expr;
mod hash;
mod headers;
mod interpreter;
mod lower;
mod memory;
mod meters;
mod objects;
mod operations;
mod output;
mod packet;
mod pipe;
mod pipeline;
mod prepare;
mod random;
mod recorder;
mod registers;
mod replication;
mod requests;
mod statistics;
mod step;
pub mod stf;
mod switch;
mod tables;
mod trace;
mod value_sets;
mod wide;

pub use arithmetic::{binary_wide, shift_wide};
pub use bits::BitWriter;
pub use control::{EntryAction, GroupMember, TableEntry, WeightedAction};
pub use counters::CounterData;
pub use digest::{DIGEST_QUEUE, DigestMessage};
pub use error::{ControlCode, ControlError, ProgramError};
pub use executor::{Batch, Executor, Frame, Graph, Stop, Tally};
pub use expr::State;
pub use headers::HeaderPlan;
pub use interpreter::Interpreter;
pub use meters::MeterConfig;
pub use objects::{Applied, Counts, Objects};
pub use output::Output;
pub use packet::Packet;
pub use pipe::{PIPELINES, pipeline_of};
pub use pipeline::{PASS_LIMIT, WORK_LIMIT};
pub use random::Random;
pub use recorder::Recorder;
pub use registers::{RegisterLayout, Registers};
pub use replication::{CloneSession, Replica};
pub use requests::{NO_LIST, Requests};
pub use statistics::Statistics;
pub use switch::{BATCH, Switch, SwitchOptions};
pub use tables::{ExactMap, HASH_KEYS};
pub use trace::{Event, EventKind, Named, Trace};
