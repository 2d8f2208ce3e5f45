//! What a person would write instead of a P4 program: plain Rust that does to packets and state
//! exactly what the program does, and nothing that a switch would not have to do (real tables of
//! the program's sizes, every check of the parser).

mod cache_read;
mod table;

pub use cache_read::CacheRead;
pub use table::Table;

use netkv_dataplane::Output;

/// A pipeline with a switch's interface to packets.
pub trait Pipeline {
    /// Processes frames that came in together; what leaves is appended to `out`.
    fn process_batch(&mut self, frames: &[&[u8]], out: &mut Output);

    /// How often each of the first `entries` cached keys was read.
    fn counts(&self, entries: u32) -> Vec<u64>;
}
