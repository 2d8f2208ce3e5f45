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

use netkv_ir::{Cfg, Program, Word};

use crate::dataflow::{self, DataflowResult};
use crate::effects::Kind;
use crate::flow::{BitSet, Flow};
use crate::nodes::{Boundary, Edge, Node, NodeId};
use crate::path_conditions::PathConditions;

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
