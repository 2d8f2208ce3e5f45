//! The loop over the copies of a multicast packet, while one of them is compiled.

use cranelift_codegen::ir::{Block, StackSlot, Value};

/// The loop over the copies of a multicast packet.
pub(super) struct Copies {
    /// The block that follows each copy but the last.
    pub(super) following: Block,
    /// Whether the current copy is the last one.
    pub(super) is_last: Value,
    /// The address of the target after the current one.
    pub(super) next: Value,
    pub(super) first: Value,
    pub(super) original: Original,
}

/// A packet at the end of ingress.
pub(super) struct Original {
    /// The words of the state area.
    pub(super) words: Vec<Kept>,
    pub(super) cursor: Value,
    pub(super) length: Value,
}

/// Where a word of the original packet is while its copies are made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kept {
    /// It is known, or bits of the received frame.
    Value(Value),
    /// In memory: a value that all copies use would be kept for them on the way of packets without
    /// copies, too.
    Slot(StackSlot),
}
