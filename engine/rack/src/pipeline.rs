//! What a node does with frames between receiving and sending.

use netkv_dataplane::{DigestMessage, Output, Switch};

/// The inside of a [`crate::switch::Node`].
pub trait Pipeline: Send + 'static {
    /// Takes frames that came in on one port together, in order; appends what leaves to `out`.
    fn batch<'a>(
        &mut self,
        now_ns: u64,
        port: u16,
        frames: impl Iterator<Item = &'a [u8]>,
        out: &mut Output,
    );

    /// The digests that wait for the control plane.
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
