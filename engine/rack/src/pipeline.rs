//! The interface between a switch node and the program that processes its frames.

use netkv_dataplane::{DigestMessage, Output, Switch};

/// The packet processing of a [`crate::switch::Node`].
pub trait Pipeline: Send + 'static {
    /// Processes frames that arrived together at one port, in order; appends the output to `out`.
    fn batch<'a>(
        &mut self,
        now_ns: u64,
        port: u16,
        frames: impl Iterator<Item = &'a [u8]>,
        out: &mut Output,
    );

    /// Removes and returns the pending digests.
    fn take_digests(&mut self) -> Vec<DigestMessage>;
}

impl Pipeline for Switch {
    fn batch<'a>(
        &mut self,
        now_ns: u64,
        port: u16,
        frames: impl Iterator<Item = &'a [u8]>,
        out: &mut Output,
    ) {
        self.process_batch(now_ns, port, frames, out);
    }

    fn take_digests(&mut self) -> Vec<DigestMessage> {
        Switch::take_digests(self)
    }
}
