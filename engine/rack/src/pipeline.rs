//! The interface between a switch node and the program that processes its frames.

use std::sync::{Arc, MutexGuard};

use netkv_dataplane::{DigestMessage, InFlight, Output, Packet, SharedSwitch, Switch};

/// The packet processing of one pipeline of a [`crate::switch::Node`].
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
    fn take_digests(&mut self) -> Vec<DigestMessage> {
        Vec::new()
    }

    /// Appends the packets for the egress of other pipelines to a list, and takes `spare` for
    /// reuse.
    #[allow(clippy::vec_box)]
    fn take_crossing(&mut self, to: &mut Vec<Box<Packet>>, spare: &mut Vec<Box<Packet>>) {
        let _ = (to, spare);
    }

    /// Processes packets of other pipelines, and appends as many to `spare`. Returns the number of
    /// packets that were dropped because another program was loaded since.
    #[allow(clippy::vec_box)]
    fn receive_crossing(
        &mut self,
        packets: impl Iterator<Item = Box<Packet>>,
        spare: &mut Vec<Box<Packet>>,
        out: &mut Output,
    ) -> u64 {
        let _ = (packets, spare, out);
        0
    }
}

/// The pipelines of a node, each behind a lock of its own.
pub trait Pipelines: Send + Sync + 'static {
    /// A pipeline.
    type Pipeline: Pipeline;

    /// The packets between them. Their number is 1, 2 or 4; a port belongs to pipeline
    /// `port % number`.
    fn in_flight(&self) -> &Arc<InFlight>;

    /// Locks one of them.
    fn lock(&self, pipeline: usize) -> MutexGuard<'_, Self::Pipeline>;
}

impl Pipelines for SharedSwitch {
    type Pipeline = Switch;

    fn in_flight(&self) -> &Arc<InFlight> {
        SharedSwitch::in_flight(self)
    }

    fn lock(&self, pipeline: usize) -> MutexGuard<'_, Switch> {
        self.lock_pipeline(pipeline)
    }
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

    fn take_crossing(&mut self, to: &mut Vec<Box<Packet>>, spare: &mut Vec<Box<Packet>>) {
        Switch::take_crossing(self, to);
        self.reuse(spare);
    }

    fn receive_crossing(
        &mut self,
        packets: impl Iterator<Item = Box<Packet>>,
        spare: &mut Vec<Box<Packet>>,
        out: &mut Output,
    ) -> u64 {
        Switch::receive_crossing(self, packets, spare, out)
    }
}
