//! How fast the data plane is: packets per second of each path through each program, in memory.
//!
//! A [`Case`] names a program, a path and sizes; [`measure`] fills one switch for each executor
//! (and the hand-written pipeline, where there is one) in the same way, holds their answers
//! against each other byte for byte, then times them in turns. Nothing here does I/O but reading
//! the program.
//!
//! ```text
//!   case, measure, clock     what is measured, and how
//!   contender, check         what takes part, and whether all do the same
//!   programs/*               a module per P4 program: its paths, tables and frames
//!   handwritten/*            what a person would write instead of the yardstick program
//!   variant                  the yardstick program for other sizes
//!   control, traffic         tables by name, frames in one piece of memory
//!   ready                    a filled switch for the benchmark over sockets
//!   load                     how long a program takes to compile and load
//! ```

#![forbid(unsafe_code)]

mod case;
mod check;
mod clock;
mod contender;
mod control;
mod error;
pub mod handwritten;
mod load;
mod measure;
mod programs;
mod ready;
mod traffic;
mod variant;

pub use case::{Case, Executor};
pub use contender::Contender;
pub use error::BenchError;
pub use load::{LoadTimes, load_times};
pub use measure::{Measurement, measure};
pub use programs::{Subject, subject, subjects};
pub use ready::ready;
pub use traffic::{Frames, Renew, Traffic};
pub use variant::{Shape, source as variant_source};
