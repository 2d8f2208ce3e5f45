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
