//! Handwritten pipelines: Rust code that processes packets and state exactly as a P4 program does,
//! with tables of the program's sizes and every check of its parser.
//!
//! The yardstick's pipeline is here, and that of a program of netkv is beside its paths, in
//! `programs`. What it needs is here, too:
//!
//! ```text
//!   transport, ipv4   checks of the headers up to UDP and of the lengths, IPv4 checksum
//!   forwarding        owners of keys, routes, drops by reason, frames from and to the controller
//!   sampler, sketch   sampled requests, Count-Min sketch
//!   table             hash table
//!   layout, bytes     offsets of fields, big-endian fields
//! ```

mod bytes;
mod cache_read;
mod forwarding;
mod ipv4;
pub(crate) mod layout;
mod pipeline;
mod sampler;
mod sketch;
mod table;
mod transport;

pub(crate) use bytes::{add_u16, copy, u16_at, u32_at};
pub use cache_read::CacheRead;
pub(crate) use forwarding::{DROP_REASONS, Drop, Forwarding, Owner, enter, send};
pub(crate) use ipv4::{address, set_checksum};
pub use pipeline::{Counts, Pipeline};
pub(crate) use sampler::Sampler;
pub(crate) use sketch::{CountMin, count, current, key_hashes};
pub(crate) use table::GROUP;
pub use table::Table;
pub(crate) use transport::{has_kv, keys_of};
