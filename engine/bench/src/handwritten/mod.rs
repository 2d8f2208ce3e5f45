//! Handwritten pipelines: Rust code that processes packets and state exactly as a P4 program does,
//! with tables of the program's sizes and every check of its parser.
//!
//! The yardstick's pipeline is here, and NetCache's is beside its paths, in `programs`. What a
//! program of netkv needs is here, too:
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
mod sampler;
mod sketch;
mod table;
mod transport;

pub(crate) use bytes::{add_u16, copy, u16_at, u32_at};
pub use cache_read::CacheRead;
pub(crate) use forwarding::{DROP_REASONS, Drop, Forwarding, Owner, enter, send};
pub(crate) use ipv4::{address, set_checksum};
pub(crate) use sampler::Sampler;
pub(crate) use sketch::{CountMin, count, current, key_hashes};
pub(crate) use table::GROUP;
pub use table::Table;
pub(crate) use transport::{has_kv, keys_of};

use netkv_dataplane::Output;

/// Arrays of cells, each with the name of its register or counter in the program.
pub type Counts = Vec<(&'static str, Vec<u64>)>;

/// A pipeline that processes packets as a switch does.
pub trait Pipeline {
    /// Processes a batch of frames from one port. The sent frames are appended to `out`.
    fn process_batch(&mut self, port: u16, frames: &[&[u8]], out: &mut Output);

    /// The arrays of [`Subject::counted`](crate::Subject::counted), in that order.
    fn counts(&self) -> Counts;

    /// Removes and returns the queued digests, each as its members.
    fn take_digests(&mut self) -> Vec<Vec<u128>> {
        Vec::new()
    }
}
