//! Groups the accesses to each register array, counter, meter and table.
//!
//! Such an object is in one stage, and a packet passes a stage once. One stateful ALU can do a read
//! and a write of a register, at one index, with conditions and arithmetic only between them. Also
//! mutually exclusive accesses form one group. An object with two groups needs a second pass, and
//! the user gets a warning.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::dependencies::Graph;
use crate::effects::{Kind, Object};
use crate::flow::BitSet;
use crate::nodes::NodeId;

/// Accesses to an object that are possible in one stage in one pass.
#[derive(Debug, Clone)]
pub(crate) struct AccessGroup {
    pub(crate) object: Object,
    pub(crate) accesses: Vec<NodeId>,
    /// The nodes that the stateful ALU executes between the read and the write.
    pub(crate) internal: Vec<NodeId>,
    /// The written value depends on the read value.
    pub(crate) updates: bool,
}

/// Two accesses on one path through the program that cannot be in one group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conflict {
    pub(crate) object: Object,
    pub(crate) first: NodeId,
    pub(crate) second: NodeId,
    pub(crate) reason: ConflictReason,
}

/// The reason of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConflictReason {
    /// The indices are not provably equal.
    DifferentIndex,
    /// The second depends on the first through this node, which a stateful ALU cannot execute.
    ThroughNode(NodeId),
    /// Only accesses to a register can be combined.
    NotARegister,
}

/// The groups of all objects of a graph, and the conflicts that prevent larger groups.
pub(crate) fn access_groups(graph: &Graph) -> (Vec<AccessGroup>, Vec<Conflict>) {
    let mut accesses: BTreeMap<Object, Vec<NodeId>> = BTreeMap::new();
    for id in graph.ids() {
        if let Some(object) = graph.nodes[id].kind.object() {
            accesses.entry(object).or_default().push(id);
        }
    }
    let (mut groups, mut conflicts) = (Vec::new(), Vec::new());
    for (object, accesses) in accesses {
        group_accesses(graph, object, &accesses, &mut groups, &mut conflicts);
    }
    groups.sort_by_key(|group| group.accesses[0]);
    (groups, conflicts)
}

/// Two accesses that can be in one group.
struct MergeablePair {
    ends: (NodeId, NodeId),
    between: Vec<NodeId>,
    updates: bool,
}

fn group_accesses(
    graph: &Graph,
    object: Object,
    accesses: &[NodeId],
    groups: &mut Vec<AccessGroup>,
    conflicts: &mut Vec<Conflict>,
) {
    let first_conflict = conflicts.len();
    let mut mergeable: Vec<MergeablePair> = Vec::new();
    for (at, &first) in accesses.iter().enumerate() {
        let block = graph.nodes[first].block;
        let after = graph.flow.reachable_from(block);
        let follows = |second: &&NodeId| {
            let other = graph.nodes[**second].block;
            other == block || after.contains(other as usize)
        };
        let seconds: Vec<NodeId> = accesses[at + 1..].iter().filter(follows).copied().collect();
        // The set is expensive to compute, and not always needed.
        let last = seconds.last().copied().unwrap_or(first);
        let dependents = LazyCell::new(|| dependents(graph, first, last));
        for second in seconds {
            match merge(graph, object, first, second, &dependents) {
                Ok(pair) => mergeable.push(pair),
                Err(Some(reason)) => conflicts.push(Conflict { object, first, second, reason }),
                Err(None) => {}
            }
        }
    }
    let conflicting: HashSet<(NodeId, NodeId)> = conflicts[first_conflict..]
        .iter()
        .map(|conflict| (conflict.first, conflict.second))
        .collect();
    let mut own_groups: Vec<AccessGroup> = Vec::new();
    let mut group_of: HashMap<NodeId, usize> = HashMap::new();
    for &access in accesses {
        let free = |group: &AccessGroup| {
            !group.accesses.iter().any(|other| conflicting.contains(&(*other, access)))
        };
        let at = own_groups.iter().position(free).unwrap_or(own_groups.len());
        if at == own_groups.len() {
            let (accesses, internal) = (Vec::new(), Vec::new());
            own_groups.push(AccessGroup { object, accesses, internal, updates: false });
        }
        own_groups[at].accesses.push(access);
        group_of.insert(access, at);
    }
    for pair in mergeable {
        let at = group_of[&pair.ends.0];
        if at == group_of[&pair.ends.1] {
            own_groups[at].internal.extend(pair.between);
            own_groups[at].updates |= pair.updates;
        }
    }
    for group in &mut own_groups {
        group.internal.sort_unstable();
        group.internal.dedup();
    }
    groups.append(&mut own_groups);
}

/// Whether two accesses can be in one group. `Err(None)`: they are mutually exclusive, but the
/// second depends on the first through a node in a stage of its own.
fn merge(
    graph: &Graph,
    object: Object,
    first: NodeId,
    second: NodeId,
    dependents: &LazyCell<BitSet, impl FnOnce() -> BitSet>,
) -> Result<MergeablePair, Option<ConflictReason>> {
    let nodes = &graph.nodes;
    let conditions = |node: NodeId| &graph.conditions[nodes[node].block as usize];
    let exclusive = conditions(first).excludes(conditions(second));
    let register = matches!(object, Object::Register(_));
    if !exclusive && !register {
        return Err(Some(ConflictReason::NotARegister));
    }
    if !exclusive && nodes[first].index != nodes[second].index {
        return Err(Some(ConflictReason::DifferentIndex));
    }
    let mut between = between(graph, first, second, dependents);
    let through = |node: &&NodeId| {
        !nodes[**node].kind.is_plain() && nodes[**node].kind.object() != Some(object)
    };
    if let Some(through) = between.iter().find(through) {
        return Err((!exclusive).then_some(ConflictReason::ThroughNode(*through)));
    }
    between.retain(|node| nodes[*node].kind.is_plain());
    let reads = matches!(nodes[first].kind, Kind::Fetch(_));
    let writes = matches!(nodes[second].kind, Kind::Store(_));
    let updates = !exclusive && reads && writes && dependents.contains(second);
    Ok(MergeablePair { ends: (first, second), between, updates })
}

/// The nodes up to `last` that depend on `node`, directly or not.
fn dependents(graph: &Graph, node: NodeId, last: NodeId) -> BitSet {
    let mut found = BitSet::new(graph.nodes.len());
    let mut worklist = vec![node];
    while let Some(node) = worklist.pop() {
        let dependents = graph.nodes[node].dependents.iter().map(|edge| edge.node);
        worklist.extend(dependents.filter(|next| *next <= last && found.insert(*next)));
    }
    found
}

/// The nodes on dependency paths from the first node to the second, in order.
fn between(graph: &Graph, first: NodeId, second: NodeId, dependents: &BitSet) -> Vec<NodeId> {
    if !dependents.contains(second) {
        return Vec::new();
    }
    let mut seen = BitSet::new(graph.nodes.len());
    let mut found = Vec::new();
    let mut worklist = vec![second];
    while let Some(node) = worklist.pop() {
        for edge in &graph.nodes[node].dependencies {
            if edge.node > first && dependents.contains(edge.node) && seen.insert(edge.node) {
                found.push(edge.node);
                worklist.push(edge.node);
            }
        }
    }
    found.sort_unstable();
    found
}
