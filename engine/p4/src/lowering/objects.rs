//! Objects that names denote at compile time.

use std::rc::Rc;

use super::values::RValue;
use crate::hir::DeclId;

/// An object that a name denotes at compile time.
#[derive(Debug, Clone)]
pub(super) enum Object {
    Block(Rc<BlockInstance>),
    Register(u32),
    Counter(u32),
    Meter(u32),
    Profile(u32),
    Table(u32),
    ValueSet(u32),
    /// `packet_in` or `packet_out`.
    Packet,
}

/// An instance of a parser or control.
#[derive(Debug)]
pub(super) struct BlockInstance {
    pub block: usize,
    /// Control-plane path.
    pub path: String,
    /// Constructor arguments.
    pub values: Vec<(DeclId, RValue)>,
    /// Objects that it contains, and constructor arguments that are objects.
    pub objects: Vec<(DeclId, Object)>,
}
