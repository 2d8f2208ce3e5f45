//! The nodes of the dependency graph (operations, conditions and tables), its edges, and its
//! boundary.

use netkv_ir::{BlockId, Span, Word};

use crate::effects::Kind;
use crate::value_numbering::ValueNumber;

/// Index into [`crate::dependencies::Graph::nodes`].
pub(crate) type NodeId = usize;

/// An edge from or to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) node: NodeId,
    /// Minimum number of stages between both ends.
    pub(crate) distance: u32,
}

/// An operation, condition or table.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) block: BlockId,
    pub(crate) span: Span,
    /// The first stage (from 0) that is possible. The stages before compute operands of the node.
    pub(crate) earliest: u32,
    /// Nodes whose results it needs.
    pub(crate) dependencies: Vec<Edge>,
    /// Nodes that need its result.
    pub(crate) dependents: Vec<Edge>,
    /// Nodes whose results it overwrites.
    pub(crate) overwrites: Vec<Edge>,
    /// Words that it reads.
    pub(crate) uses: Vec<Word>,
    /// Words that it writes.
    pub(crate) writes: Vec<Word>,
    /// Value number of its index, for registers, counters and meters.
    pub(crate) index: Option<ValueNumber>,
    /// Length of the longest chain of ALU operations in its expression.
    pub(crate) steps: u32,
}

/// What the surrounding graphs define before a graph and use after it.
pub(crate) struct Boundary<'a> {
    /// Whether a word is 0 at the entry.
    pub(crate) zero_at_entry: &'a dyn Fn(Word) -> bool,
    /// Whether a word is read after the exit.
    pub(crate) live_at_exit: &'a dyn Fn(Word) -> bool,
}
