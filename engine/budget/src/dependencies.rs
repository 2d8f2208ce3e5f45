//! What of a graph depends on what: a node for each operation, condition and table, and an edge
//! with the number of stages that have to lie between two of them.
//!
//! ```text
//! a result that is read        one stage, and one more for each operation in between
//! action data in its action    none: the action runs in the stage of its table
//! a condition, an outcome      none: a stage decides before it acts
//! a field that is overwritten  one stage; none over a constant (one of both is left out)
//! ```
//!
//! Nodes stand in an order in which none depends on a later one.

use std::collections::{BTreeSet, HashMap};

use netkv_ir::{BlockId, Cfg, Program, Span, Word};

use crate::effects::Kind;
use crate::facts::Facts;
use crate::flow::{Bits, Flow};
use crate::numbers::Number;
use crate::walk::{self, Walked};

/// Index into [`Graph::nodes`].
pub(crate) type NodeId = usize;

/// From or to a node, so many stages apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) node: NodeId,
    pub(crate) distance: u32,
}

/// An operation, condition or table.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) block: BlockId,
    pub(crate) span: Span,
    /// The first stage (from 0) that it can be in, by what it has to compute before.
    pub(crate) earliest: u32,
    /// What it needs the results of.
    pub(crate) needs: Vec<Edge>,
    /// Who needs its result.
    pub(crate) feeds: Vec<Edge>,
    /// Whose results it overwrites.
    pub(crate) replaces: Vec<Edge>,
    /// Words that it reads, and writes.
    pub(crate) uses: Vec<Word>,
    pub(crate) writes: Vec<Word>,
    /// Number of its index, for registers, counters and meters.
    pub(crate) index: Option<Number>,
    /// Additions and the like that it takes, one after the other.
    pub(crate) steps: u32,
}

/// The dependencies of one graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) flow: Flow,
    pub(crate) nodes: Vec<Node>,
    /// What is known in each block.
    pub(crate) facts: Vec<Facts>,
    /// Nodes whose work somebody sees; the others are left out of everything.
    pub(crate) needed: Bits,
    /// Words that hold something at the end for those who come after.
    pub(crate) outlive: BTreeSet<Word>,
    /// How much of a word is used, of those that are read.
    pub(crate) bits: HashMap<Word, u32>,
}

/// What a graph finds and leaves.
pub(crate) struct Around<'a> {
    /// Whether a word is 0 at the beginning.
    pub(crate) zero: &'a dyn Fn(Word) -> bool,
    /// Whether somebody reads a word after the end.
    pub(crate) read_later: &'a dyn Fn(Word) -> bool,
}

impl Graph {
    pub(crate) fn new(program: &Program, cfg: &Cfg, around: &Around<'_>) -> Self {
        let flow = Flow::new(cfg);
        let Walked { mut nodes, facts, left, outlive, bits } =
            walk::walk(program, cfg, &flow, around);
        let acts = |node: &usize| {
            let kind = nodes[*node].kind;
            kind.object().is_some() || kind == Kind::Signal
        };
        let mut open: Vec<NodeId> = (0..nodes.len()).filter(acts).chain(left).collect();
        let mut needed = Bits::new(nodes.len());
        while let Some(node) = open.pop() {
            if needed.add(node) {
                open.extend(nodes[node].needs.iter().map(|edge| edge.node));
            }
        }
        for node in (0..nodes.len()).filter(|node| needed.contains(*node)) {
            for Edge { node: from, distance } in nodes[node].needs.clone() {
                nodes[from].feeds.push(Edge { node, distance });
            }
        }
        Self { flow, nodes, facts, needed, outlive, bits }
    }

    /// The nodes that are needed.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len()).filter(|node| self.needed.contains(*node))
    }
}
