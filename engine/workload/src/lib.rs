//! The workload generator: operations, their keys, their value sizes and their arrival times.
//!
//! To draw an operation, a [`Workload`]
//!
//! 1. draws the kind of operation from the [`Mix`];
//! 2. draws a popularity rank ([`Zipf`] or [`GrayZipf`]), for a multiget several ([`MultigetSize`]);
//! 3. maps the rank to a key ([`Ranking`], which popularity shifts change);
//! 4. draws the size of the value ([`ValueSize`]).
//!
//! Memory does not depend on the number of keys. A seed determines everything. Generators of one
//! rack have the same seed, so they agree on the popularity of keys, and different streams.

#![forbid(unsafe_code)]

mod ahead;
mod arrivals;
mod distribution;
mod gray_zipf;
mod key_table;
mod keys;
mod law;
mod mix;
mod multiget;
mod operation;
mod permutation;
mod placement;
mod random;
mod ranking;
mod sizes;
mod turn;
mod wire_keys;
mod workload;
mod zipf;

pub use arrivals::{Arrivals, exponential_gap};
pub use distribution::Distribution;
pub use gray_zipf::GrayZipf;
pub use key_table::KeyTable;
pub use keys::{Key, key_id, key_of};
pub use mix::{Mix, OpKind};
pub use multiget::{MAX_MULTIGET, MultigetSize};
pub use operation::Operation;
pub use permutation::Permutation;
pub use placement::{Placement, record_number};
pub use random::{Random, mix64};
pub use ranking::{Ranking, Shift};
pub use sizes::{MAX_VALUE_SIZE, MIN_VALUE_SIZE, ValueSize};
pub use turn::Turn;
pub use wire_keys::{
    MAX_KEY_SIZE, MIN_KEY_SIZE, WireKey, key_of_wire, keyspace_id, max_keys, wire_key,
};
pub use workload::{MAX_KEYS, Popularity, Workload, WorkloadConfig};
pub use zipf::Zipf;
