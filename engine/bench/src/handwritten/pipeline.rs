//! The interface of a handwritten pipeline.

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
