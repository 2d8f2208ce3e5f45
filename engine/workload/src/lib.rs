//! Which keys are asked for, how often, with which operations, and when.
//!
//! A [`Workload`] draws operations: a rank from the popularity distribution ([`Zipf`]), the key
//! that has this rank now ([`Ranking`], which popularity shifts change), an operation of the
//! [`Mix`] and a size of the value; for multigets several keys ([`MultigetSize`]). Nothing here grows with the number of keys. Everything is
//! deterministic from a seed; generators of one rack share the seed, so that they agree on which
//! keys are hot, and differ in their stream.

#![forbid(unsafe_code)]

mod arrivals;
mod distribution;
mod keys;
mod mix;
mod multiget;
mod names;
mod permutation;
mod random;
mod ranking;
mod sizes;
mod table;
mod workload;
mod zipf;

pub use arrivals::{Arrivals, exponential_gap};
pub use distribution::Distribution;
pub use keys::{Key, key_id, key_of};
pub use mix::{Mix, OpKind};
pub use multiget::{MAX_MULTIGET, MultigetSize};
pub use names::{
    MAX_KEY_SIZE, MIN_KEY_SIZE, WireKey, key_of_wire, keyspace_id, most_keys, wire_key,
};
pub use permutation::Permutation;
pub use random::{Random, mix64};
pub use ranking::{Ranking, Shift};
pub use sizes::{MAX_VALUE_SIZE, MIN_VALUE_SIZE, ValueSize};
pub use table::KeyTable;
pub use workload::{MAX_KEYS, Operation, Popularity, Workload, WorkloadConfig};
pub use zipf::Zipf;
