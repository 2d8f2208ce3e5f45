//! Packets between pipelines that run on threads of their own ([`crate::SharedSwitch`]).

#![allow(clippy::vec_box)] // a packet is large, and boxes are cheap to move

use std::sync::Arc;

use crate::in_flight::InFlight;
use crate::packet::Packet;

/// The packets between a part of a switch and the others.
pub(crate) struct Crossing {
    pub(crate) in_flight: Arc<InFlight>,
    /// Number of the pipeline that is here.
    pub(crate) pipeline: usize,
    /// Packets that are handed over.
    pub(crate) packets: Vec<Box<Packet>>,
    /// Epoch of the handed-over packet that is processed now.
    pub(crate) cause: Option<u64>,
}

impl Crossing {
    pub(crate) fn new(in_flight: &Arc<InFlight>, pipeline: usize) -> Self {
        let in_flight = Arc::clone(in_flight);
        Self { in_flight, pipeline, packets: Vec::new(), cause: None }
    }
}
