//! Units of placement: an operation, a table with its outcome, or a group of accesses to a register
//! array with all nodes that its stateful ALU executes.
//!
//! Units that depend on each other in a cycle cannot be placed. Their access groups are split into
//! single accesses, and the user gets a warning.

use std::collections::BTreeSet;

use crate::access_groups::{AccessGroup, Conflict};
use crate::components::cyclic_components;
use crate::dependencies::Graph;
use crate::effects::{Kind, Object};
use crate::nodes::{Edge, NodeId};

/// Index into [`Units::all`].
pub(crate) type UnitId = usize;

/// Nodes that are in one stage.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// If there is an object, its accesses come first.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) object: Option<Object>,
    /// The first stage (from 0) that is possible.
    pub(crate) earliest: u32,
    /// Units that must come before it.
    pub(crate) dependencies: Vec<Edge>,
    /// Units that must come after it.
    pub(crate) dependents: Vec<Edge>,
}

/// Objects whose accesses depend on each other in a cycle.
#[derive(Debug)]
pub(crate) struct Cycle {
    pub(crate) objects: Vec<Object>,
    pub(crate) accesses: Vec<NodeId>,
}

/// All units, and the cycles among them that were broken.
#[derive(Debug)]
pub(crate) struct Units {
    pub(crate) all: Vec<Unit>,
    /// The unit of each node.
    pub(crate) unit_of: Vec<Option<UnitId>>,
    pub(crate) cycles: Vec<Cycle>,
}

impl Units {
    pub(crate) fn new(graph: &Graph, groups: &[AccessGroup], conflicts: &[Conflict]) -> Self {
        let mut groups = groups.to_vec();
        let mut cycles = Vec::new();
        loop {
            let mut units = build(graph, &groups);
            let in_cycle: BTreeSet<NodeId> = units.find_cycles(graph, &mut cycles);
            if in_cycle.is_empty() {
                units.add_order(graph, conflicts);
                units.cycles = cycles;
                return units;
            }
            groups = groups.into_iter().flat_map(|group| split(group, &in_cycle)).collect();
        }
    }

    /// Finds cycles of units. Returns the accesses that must be split.
    fn find_cycles(&self, graph: &Graph, cycles: &mut Vec<Cycle>) -> BTreeSet<NodeId> {
        let successors: Vec<Vec<UnitId>> = self
            .all
            .iter()
            .map(|unit| unit.dependents.iter().map(|edge| edge.node).collect())
            .collect();
        let mut in_cycle = BTreeSet::new();
        for cycle in cyclic_components(&successors) {
            let mut objects: Vec<Object> =
                cycle.iter().filter_map(|unit| self.all[*unit].object).collect();
            let nodes = cycle.iter().flat_map(|unit| &self.all[*unit].nodes);
            let mut accesses: Vec<NodeId> =
                nodes.filter(|node| graph.nodes[**node].kind.object().is_some()).copied().collect();
            objects.sort_unstable();
            objects.dedup();
            accesses.sort_unstable();
            in_cycle.extend(accesses.iter().copied());
            cycles.push(Cycle { objects, accesses });
        }
        in_cycle
    }

    /// Adds output dependences, and an order of conflicting accesses, if they close no cycle.
    fn add_order(&mut self, graph: &Graph, conflicts: &[Conflict]) {
        let rank = self.ranks();
        let replaced = graph.ids().flat_map(|id| {
            graph.nodes[id].overwrites.iter().map(move |edge| (edge.node, id, edge.distance))
        });
        let clashing = conflicts.iter().map(|conflict| (conflict.first, conflict.second, 1));
        for (from, to, distance) in replaced.chain(clashing) {
            if let (Some(from), Some(to)) = (self.unit_of[from], self.unit_of[to])
                && rank[from] < rank[to]
            {
                self.all[to].dependencies.push(Edge { node: from, distance });
                self.all[from].dependents.push(Edge { node: to, distance });
            }
        }
    }

    /// The position of each unit in a topological order.
    fn ranks(&self) -> Vec<usize> {
        let mut pending: Vec<usize> = self.all.iter().map(|unit| unit.dependencies.len()).collect();
        let mut ready: BTreeSet<(NodeId, UnitId)> = BTreeSet::new();
        let first = |unit: UnitId| (self.all[unit].nodes[0], unit);
        ready.extend((0..pending.len()).filter(|unit| pending[*unit] == 0).map(first));
        let mut rank = vec![0; pending.len()];
        let mut next = 0;
        while let Some((_, unit)) = ready.pop_first() {
            rank[unit] = next;
            next += 1;
            for edge in &self.all[unit].dependents {
                pending[edge.node] -= 1;
                if pending[edge.node] == 0 {
                    ready.insert(first(edge.node));
                }
            }
        }
        rank
    }
}

/// Splits a group with accesses in a cycle into single accesses.
fn split(group: AccessGroup, in_cycle: &BTreeSet<NodeId>) -> Vec<AccessGroup> {
    if group.accesses.len() == 1 || !in_cycle.contains(&group.accesses[0]) {
        return vec![group];
    }
    let alone = |access: &NodeId| AccessGroup {
        object: group.object,
        accesses: vec![*access],
        internal: Vec::new(),
        updates: group.updates,
    };
    group.accesses.iter().map(alone).collect()
}

fn build(graph: &Graph, groups: &[AccessGroup]) -> Units {
    let mut unit_of: Vec<Option<UnitId>> = vec![None; graph.nodes.len()];
    let mut all: Vec<Unit> = Vec::new();
    for group in groups {
        let mut unit =
            Unit { nodes: group.accesses.clone(), object: Some(group.object), ..Unit::default() };
        // An operation between accesses to two arrays belongs to the unit of the first array.
        unit.nodes.extend(group.internal.iter().filter(|node| unit_of[**node].is_none()));
        unit.nodes.iter().for_each(|node| unit_of[*node] = Some(all.len()));
        all.push(unit);
    }
    for id in graph.ids() {
        if unit_of[id].is_none() {
            unit_of[id] = Some(all.len());
            all.push(Unit { nodes: vec![id], ..Unit::default() });
        }
    }
    let mut edges: Vec<(UnitId, UnitId, u32)> = Vec::new();
    for id in graph.ids() {
        let Some(to) = unit_of[id] else { continue };
        let node = &graph.nodes[id];
        let inside = all[to].object.is_some() && node.kind.is_plain();
        // A stateful ALU also computes the operands of its operations.
        let steps = |distance: u32| if inside { distance.min(1) } else { distance };
        if !inside {
            all[to].earliest = all[to].earliest.max(node.earliest);
        }
        for edge in &node.dependencies {
            let Some(from) = unit_of[edge.node] else { continue };
            if from == to {
                continue;
            }
            // A condition that a stateful ALU evaluates leaves it as a field.
            let kind = graph.nodes[edge.node].kind;
            let decided = kind == Kind::Branch && all[from].object.is_some();
            edges.push((from, to, steps(edge.distance).max(u32::from(decided))));
        }
    }
    edges.sort_unstable_by_key(|(from, to, distance)| (*from, *to, std::cmp::Reverse(*distance)));
    edges.dedup_by_key(|(from, to, _)| (*from, *to));
    for (from, to, distance) in edges {
        all[from].dependents.push(Edge { node: to, distance });
        all[to].dependencies.push(Edge { node: from, distance });
    }
    Units { all, unit_of, cycles: Vec::new() }
}
