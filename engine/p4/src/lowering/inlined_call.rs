//! Calls that are being inlined.

use super::storage::Storage;
use super::values::LValue;
use crate::types::Ty;

/// A call that is being inlined.
#[derive(Debug, Clone)]
pub(super) struct InlinedCall {
    /// Successor of `return`.
    pub(super) done: netkv_ir::BlockId,
    pub(super) result: Option<(Storage, Ty)>,
    /// Copy-outs after the call, left to right.
    pub(super) copy_outs: Vec<CopyOut>,
}

/// The copy-out of one argument after a call.
#[derive(Debug, Clone)]
pub(super) struct CopyOut {
    pub(super) to: LValue,
    pub(super) from: Storage,
    pub(super) ty: Ty,
    /// An `exit` in the callee copies out, too.
    pub(super) at_exit: bool,
}

/// The kind of declaration whose body is being lowered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Caller {
    /// A parser or control.
    Block(usize),
    Action,
}
