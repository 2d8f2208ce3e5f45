//! How often a packet comes to a register array, counter, meter or table.
//!
//! Each of them is in one stage. A register may be read and written there by one stateful ALU, at
//! one index, if what lies between the read and the write is conditions and arithmetic only. All
//! else is a second visit, which a packet does not have.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::dependencies::{Graph, NodeId};
use crate::effects::{Kind, Object};
use crate::flow::Bits;

/// What a packet does with an object at one time.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) object: Object,
    pub(crate) accesses: Vec<NodeId>,
    /// What the stateful ALU does between reading and writing.
    pub(crate) within: Vec<NodeId>,
    /// What is written depends on what was read.
    pub(crate) updates: bool,
}

/// Two accesses that no single visit can do, on one way through the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clash {
    pub(crate) object: Object,
    pub(crate) first: NodeId,
    pub(crate) second: NodeId,
    pub(crate) why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The indices are not the same for certain.
    Index,
    /// The result of the first goes through this one into the second.
    Through(NodeId),
    /// It is no register: each access is a visit.
    Again,
}

/// Visits of all objects of a graph, and what stands against fewer.
pub(crate) fn visits(graph: &Graph) -> (Vec<Visit>, Vec<Clash>) {
    let mut accesses: BTreeMap<Object, Vec<NodeId>> = BTreeMap::new();
    for id in graph.ids() {
        if let Some(object) = graph.nodes[id].kind.object() {
            accesses.entry(object).or_default().push(id);
        }
    }
    let (mut visits, mut clashes) = (Vec::new(), Vec::new());
    for (object, accesses) in accesses {
        of(graph, object, &accesses, &mut visits, &mut clashes);
    }
    visits.sort_by_key(|visit| visit.accesses[0]);
    (visits, clashes)
}

/// Two accesses of one way that one visit may do.
struct Pair {
    ends: (NodeId, NodeId),
    between: Vec<NodeId>,
    depends: bool,
}

fn of(
    graph: &Graph,
    object: Object,
    accesses: &[NodeId],
    visits: &mut Vec<Visit>,
    clashes: &mut Vec<Clash>,
) {
    let own = clashes.len();
    let mut pairs: Vec<Pair> = Vec::new();
    for (at, &first) in accesses.iter().enumerate() {
        let block = graph.nodes[first].block;
        let after = graph.flow.after(block);
        let follows = |second: &&NodeId| {
            let other = graph.nodes[**second].block;
            other == block || after.contains(other as usize)
        };
        let seconds: Vec<NodeId> = accesses[at + 1..].iter().filter(follows).copied().collect();
        // Who depends on it costs something to find, and is not always asked for.
        let last = seconds.last().copied().unwrap_or(first);
        let fed = LazyCell::new(|| fed(graph, first, last));
        for second in seconds {
            match meet(graph, object, first, second, &fed) {
                Ok(pair) => pairs.push(pair),
                Err(Some(why)) => clashes.push(Clash { object, first, second, why }),
                Err(None) => {}
            }
        }
    }
    let apart: HashSet<(NodeId, NodeId)> =
        clashes[own..].iter().map(|clash| (clash.first, clash.second)).collect();
    let mut made: Vec<Visit> = Vec::new();
    let mut visit_of: HashMap<NodeId, usize> = HashMap::new();
    for &access in accesses {
        let free =
            |visit: &Visit| !visit.accesses.iter().any(|other| apart.contains(&(*other, access)));
        let at = made.iter().position(free).unwrap_or(made.len());
        if at == made.len() {
            let (accesses, within) = (Vec::new(), Vec::new());
            made.push(Visit { object, accesses, within, updates: false });
        }
        made[at].accesses.push(access);
        visit_of.insert(access, at);
    }
    for pair in pairs {
        let at = visit_of[&pair.ends.0];
        if at == visit_of[&pair.ends.1] {
            made[at].within.extend(pair.between);
            made[at].updates |= pair.depends;
        }
    }
    for visit in &mut made {
        visit.within.sort_unstable();
        visit.within.dedup();
    }
    visits.append(&mut made);
}

/// Whether one visit can do both accesses. `Err(None)`: no packet does both, but what the one gives
/// goes into the other through something with a stage of its own.
fn meet(
    graph: &Graph,
    object: Object,
    first: NodeId,
    second: NodeId,
    fed: &LazyCell<Bits, impl FnOnce() -> Bits>,
) -> Result<Pair, Option<Why>> {
    let nodes = &graph.nodes;
    let facts = |node: NodeId| &graph.facts[nodes[node].block as usize];
    let apart = facts(first).exclude(facts(second));
    let register = matches!(object, Object::Register(_));
    if !apart && !register {
        return Err(Some(Why::Again));
    }
    if !apart && nodes[first].index != nodes[second].index {
        return Err(Some(Why::Index));
    }
    let mut between = between(graph, first, second, fed);
    let through = |node: &&NodeId| {
        !nodes[**node].kind.is_plain() && nodes[**node].kind.object() != Some(object)
    };
    if let Some(through) = between.iter().find(through) {
        return Err((!apart).then_some(Why::Through(*through)));
    }
    between.retain(|node| nodes[*node].kind.is_plain());
    let reads = matches!(nodes[first].kind, Kind::Fetch(_));
    let writes = matches!(nodes[second].kind, Kind::Store(_));
    let depends = !apart && reads && writes && fed.contains(second);
    Ok(Pair { ends: (first, second), between, depends })
}

/// All that depends on a node, up to another one.
fn fed(graph: &Graph, node: NodeId, last: NodeId) -> Bits {
    let mut found = Bits::new(graph.nodes.len());
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let feeds = graph.nodes[node].feeds.iter().map(|edge| edge.node);
        open.extend(feeds.filter(|next| *next <= last && found.add(*next)));
    }
    found
}

/// What depends on the first and feeds the second, in order.
fn between(graph: &Graph, first: NodeId, second: NodeId, fed: &Bits) -> Vec<NodeId> {
    if !fed.contains(second) {
        return Vec::new();
    }
    let mut seen = Bits::new(graph.nodes.len());
    let mut found = Vec::new();
    let mut open = vec![second];
    while let Some(node) = open.pop() {
        for edge in &graph.nodes[node].needs {
            if edge.node > first && fed.contains(edge.node) && seen.add(edge.node) {
                found.push(edge.node);
                open.push(edge.node);
            }
        }
    }
    found.sort_unstable();
    found
}
