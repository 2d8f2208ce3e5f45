//! The benchmark of the data plane: packets per second of each path through each program, in
//! memory.
//!
//! A [`Case`] is a program, a path and sizes. [`measure`] fills one switch for each executor, and
//! the handwritten pipeline if there is one, in the same way. It compares what they send and count,
//! for the frames of the path and, in switches of their own, for frames of all kinds. Then it times
//! them in alternating rounds. The only I/O is to read the program.
//!
//! The yardstick is the program `cache_read.p4`: the read path of a switch cache. It was also
//! measured on bmv2 and is the reference for comparisons.
//!
//! ```text
//!   case, measure, clock     the measurement
//!   threads                  the measurement of pipelines on threads of their own
//!   contender, check         the measured switches, and the comparison of their outputs
//!   programs/*               for each P4 program its paths, table entries and frames, and one of
//!                            them written in Rust
//!   handwritten/*            the yardstick written in Rust, and what such pipelines have in common
//!   variant                  the yardstick program for other sizes
//!   control, traffic         access to tables by name; frames in contiguous memory
//!   filled_switch            a filled switch for the benchmark over sockets
//!   load                     the time to compile and load a program
//! ```

#![forbid(unsafe_code)]

mod case;
mod check;
mod clock;
mod contender;
mod control;
mod error;
mod filled_switch;
pub mod handwritten;
mod load;
mod measure;
mod programs;
mod threads;
mod traffic;
mod variant;

pub use case::{Case, Executor};
pub use contender::Contender;
pub use error::BenchError;
pub use filled_switch::filled_switch;
pub use load::{LoadTimes, load_times};
pub use measure::{Measurement, measure};
pub use programs::{Subject, subject, subjects};
pub use threads::{ThreadsMeasurement, measure_threads};
pub use traffic::{Arrivals, Frames, NewFrame, Traffic};
pub use variant::{Shape, source as variant_source};
