//! Handwritten pipelines: Rust code that processes packets and state exactly as a P4 program does,
//! with tables of the program's sizes and every check of its parser.

mod cache_read;
mod ipv4;
mod table;

pub use cache_read::CacheRead;
pub(crate) use ipv4::{address, is_checksum_right, set_checksum};
pub use table::Table;

use netkv_dataplane::Output;

/// A pipeline that processes packets as a switch does.
pub trait Pipeline {
    /// Processes a batch of frames. The sent frames are appended to `out`.
    fn process_batch(&mut self, frames: &[&[u8]], out: &mut Output);

    /// The counters that the program has: the number of reads of each of the first `entries` cached
    /// keys, or of drops by reason.
    fn counts(&self, entries: u32) -> Vec<u64>;
}
