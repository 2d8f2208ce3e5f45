//! Frames that a test script delivers.

use netkv_wire::{FrameView, Op};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    Client,
    Server(u16),
    Controller,
    Switch,
}

/// A frame on its way to the switch or to a host. It is empty if the script expected a frame that
/// was not sent.
#[derive(Debug, Clone)]
pub struct Frame {
    pub to: Node,
    pub bytes: Vec<u8>,
}

impl Frame {
    pub const NONE: Frame = Frame { to: Node::Switch, bytes: Vec::new() };

    pub fn to_switch(bytes: Vec<u8>) -> Self {
        Self { to: Node::Switch, bytes }
    }

    pub fn is(&self, op: Op) -> bool {
        FrameView::parse(&self.bytes).is_ok_and(|frame| frame.op() == op)
    }
}

/// Hosts drop datagrams whose UDP checksum is wrong; 0 is none.
pub fn has_good_udp_checksum(frame: &[u8]) -> bool {
    frame.len() < 42 || frame[40..42] == [0, 0] || udp_sum(frame) == 0xffff
}

/// The frame with a UDP checksum, as the network card of its sender may add.
pub fn with_udp_checksum(frame: &Frame) -> Frame {
    let mut bytes = frame.bytes.clone();
    let checksum = !udp_sum(&bytes);
    bytes[40..42].copy_from_slice(&checksum.to_be_bytes());
    Frame { to: frame.to, bytes }
}

/// One's complement sum over pseudo-header and datagram.
fn udp_sum(frame: &[u8]) -> u16 {
    let length = (frame.len() - 34) as u32;
    let words = frame[26..].chunks(2);
    let words = words.map(|it| u32::from(it[0]) << 8 | u32::from(*it.get(1).unwrap_or(&0)));
    let mut sum = words.sum::<u32>() + 17 + length;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
