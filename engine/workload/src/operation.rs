//! Operations of a workload.

use crate::keys::Key;
use crate::mix::OpKind;

/// One operation to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The kind of the operation.
    pub kind: OpKind,
    /// Id of the key.
    pub id: u64,
    /// The key.
    pub key: Key,
    /// Bytes of the value to write; 0 for reads and deletes.
    pub size: u16,
    /// Whether the write is to take effect only if the key is unchanged since it was last read.
    pub conditional: bool,
}
