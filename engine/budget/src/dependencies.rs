//! The dependency graph of a pipeline.
//!
//! It has a node for each operation, condition and table. The weight of an edge is the minimum
//! distance of two nodes in stages:
//!
//! ```text
//! true dependence (read after write)  1, plus 1 for each operation in between
//! action data read by its action      0: the action runs in the stage of its table
//! control dependence                  0: a stage evaluates conditions before its ALUs work
//! output dependence (overwrite)       1; 0 over a constant, since one of both can be omitted
//! ```
//!
//! The nodes are in topological order: a node depends on earlier ones only.

use std::collections::{BTreeSet, HashMap};

use netkv_ir::{BlockId, Cfg, Program, Span, Word};

use crate::dataflow::{self, DataflowResult};
use crate::effects::Kind;
use crate::flow::{BitSet, Flow};
use crate::path_conditions::PathConditions;
use crate::value_numbering::ValueNumber;

/// Index into [`Graph::nodes`].
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

/// The dependency graph of a control-flow graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) flow: Flow,
    pub(crate) nodes: Vec<Node>,
    /// Path conditions of each block.
    pub(crate) conditions: Vec<PathConditions>,
    /// Nodes with an observable effect. The others are dead code, which the estimate ignores.
    pub(crate) live: BitSet,
    /// Words that the graph writes and that are live at its exits.
    pub(crate) live_out: BTreeSet<Word>,
    /// For each word that is read, the number of its bits in use.
    pub(crate) bits: HashMap<Word, u32>,
}

/// What the surrounding graphs define before a graph and use after it.
pub(crate) struct Boundary<'a> {
    /// Whether a word is 0 at the entry.
    pub(crate) zero_at_entry: &'a dyn Fn(Word) -> bool,
    /// Whether a word is read after the exit.
    pub(crate) live_at_exit: &'a dyn Fn(Word) -> bool,
}

impl Graph {
    pub(crate) fn new(program: &Program, cfg: &Cfg, boundary: &Boundary<'_>) -> Self {
        let flow = Flow::new(cfg);
        let DataflowResult { mut nodes, conditions, live_out_writers, live_out, bits } =
            dataflow::analyze(program, cfg, &flow, boundary);
        let has_effect = |node: &usize| {
            let kind = nodes[*node].kind;
            kind.object().is_some() || kind == Kind::Signal
        };
        let mut worklist: Vec<NodeId> =
            (0..nodes.len()).filter(has_effect).chain(live_out_writers).collect();
        let mut live = BitSet::new(nodes.len());
        while let Some(node) = worklist.pop() {
            if live.insert(node) {
                worklist.extend(nodes[node].dependencies.iter().map(|edge| edge.node));
            }
        }
        for node in (0..nodes.len()).filter(|node| live.contains(*node)) {
            for Edge { node: from, distance } in nodes[node].dependencies.clone() {
                nodes[from].dependents.push(Edge { node, distance });
            }
        }
        Self { flow, nodes, conditions, live, live_out, bits }
    }

    /// The live nodes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len()).filter(|node| self.live.contains(*node))
    }
}
