//! What is placed as one: an operation, a table with its outcome, or a visit of a register array
//! with all that its stateful ALU does.

use std::collections::BTreeSet;

use crate::cycles::cycles;
use crate::dependencies::{Edge, Graph, NodeId};
use crate::effects::{Kind, Object};
use crate::visits::{Clash, Visit};

/// Index into [`Units::all`].
pub(crate) type UnitId = usize;

/// What is placed as one.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// In order; an object's first access is the first.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) object: Option<Object>,
    /// The first stage (from 0) that it may be in.
    pub(crate) earliest: u32,
    /// Units that come before and after, so many stages apart.
    pub(crate) needs: Vec<Edge>,
    pub(crate) feeds: Vec<Edge>,
}

/// Objects that would have to stand before each other.
#[derive(Debug)]
pub(crate) struct Knot {
    pub(crate) objects: Vec<Object>,
    pub(crate) accesses: Vec<NodeId>,
}

/// All units, and what keeps them from being placed.
#[derive(Debug)]
pub(crate) struct Units {
    pub(crate) all: Vec<Unit>,
    /// The unit of each node.
    pub(crate) of: Vec<Option<UnitId>>,
    pub(crate) knots: Vec<Knot>,
}

impl Units {
    pub(crate) fn new(graph: &Graph, visits: &[Visit], clashes: &[Clash]) -> Self {
        let mut visits = visits.to_vec();
        let mut knots = Vec::new();
        loop {
            let mut units = group(graph, &visits);
            let tied: BTreeSet<NodeId> = units.untie(graph, &mut knots);
            if tied.is_empty() {
                units.order(graph, clashes);
                units.knots = knots;
                return units;
            }
            visits = visits.into_iter().flat_map(|visit| apart(visit, &tied)).collect();
        }
    }

    /// Finds units that wait for each other; gives the accesses that must not stay together.
    fn untie(&self, graph: &Graph, knots: &mut Vec<Knot>) -> BTreeSet<NodeId> {
        let next: Vec<Vec<UnitId>> =
            self.all.iter().map(|unit| unit.feeds.iter().map(|edge| edge.node).collect()).collect();
        let mut tied = BTreeSet::new();
        for knot in cycles(&next) {
            let mut objects: Vec<Object> =
                knot.iter().filter_map(|unit| self.all[*unit].object).collect();
            let nodes = knot.iter().flat_map(|unit| &self.all[*unit].nodes);
            let mut accesses: Vec<NodeId> =
                nodes.filter(|node| graph.nodes[**node].kind.object().is_some()).copied().collect();
            objects.sort_unstable();
            objects.dedup();
            accesses.sort_unstable();
            tied.extend(accesses.iter().copied());
            knots.push(Knot { objects, accesses });
        }
        tied
    }

    /// Adds the order of those who write one field, and of visits that cannot be one, where it
    /// agrees with what they need.
    fn order(&mut self, graph: &Graph, clashes: &[Clash]) {
        let rank = self.ranks();
        let replaced = graph.ids().flat_map(|id| {
            graph.nodes[id].replaces.iter().map(move |edge| (edge.node, id, edge.distance))
        });
        let clashing = clashes.iter().map(|clash| (clash.first, clash.second, 1));
        for (from, to, distance) in replaced.chain(clashing) {
            if let (Some(from), Some(to)) = (self.of[from], self.of[to])
                && rank[from] < rank[to]
            {
                self.all[to].needs.push(Edge { node: from, distance });
                self.all[from].feeds.push(Edge { node: to, distance });
            }
        }
    }

    /// The place of each unit in an order in which none comes before what it needs.
    fn ranks(&self) -> Vec<usize> {
        let mut waits: Vec<usize> = self.all.iter().map(|unit| unit.needs.len()).collect();
        let mut open: BTreeSet<(NodeId, UnitId)> = BTreeSet::new();
        let first = |unit: UnitId| (self.all[unit].nodes[0], unit);
        open.extend((0..waits.len()).filter(|unit| waits[*unit] == 0).map(first));
        let mut rank = vec![0; waits.len()];
        let mut next = 0;
        while let Some((_, unit)) = open.pop_first() {
            rank[unit] = next;
            next += 1;
            for edge in &self.all[unit].feeds {
                waits[edge.node] -= 1;
                if waits[edge.node] == 0 {
                    open.insert(first(edge.node));
                }
            }
        }
        rank
    }
}

/// A visit whose accesses are tied: each becomes one of its own.
fn apart(visit: Visit, tied: &BTreeSet<NodeId>) -> Vec<Visit> {
    if visit.accesses.len() == 1 || !tied.contains(&visit.accesses[0]) {
        return vec![visit];
    }
    let alone = |access: &NodeId| Visit {
        object: visit.object,
        accesses: vec![*access],
        within: Vec::new(),
        updates: visit.updates,
    };
    visit.accesses.iter().map(alone).collect()
}

fn group(graph: &Graph, visits: &[Visit]) -> Units {
    let mut of: Vec<Option<UnitId>> = vec![None; graph.nodes.len()];
    let mut all: Vec<Unit> = Vec::new();
    for visit in visits {
        let mut unit =
            Unit { nodes: visit.accesses.clone(), object: Some(visit.object), ..Unit::default() };
        // An operation that two arrays claim stays with the first; the other one waits for it.
        unit.nodes.extend(visit.within.iter().filter(|node| of[**node].is_none()));
        unit.nodes.iter().for_each(|node| of[*node] = Some(all.len()));
        all.push(unit);
    }
    for id in graph.ids() {
        if of[id].is_none() {
            of[id] = Some(all.len());
            all.push(Unit { nodes: vec![id], ..Unit::default() });
        }
    }
    let mut edges: Vec<(UnitId, UnitId, u32)> = Vec::new();
    for id in graph.ids() {
        let Some(to) = of[id] else { continue };
        let node = &graph.nodes[id];
        let inside = all[to].object.is_some() && node.kind.is_plain();
        // The stateful ALU computes what lies before, too.
        let steps = |distance: u32| if inside { distance.min(1) } else { distance };
        if !inside {
            all[to].earliest = all[to].earliest.max(node.earliest);
        }
        for edge in &node.needs {
            let Some(from) = of[edge.node] else { continue };
            if from == to {
                continue;
            }
            // What a stateful ALU has decided on leaves it as a field.
            let kind = graph.nodes[edge.node].kind;
            let decided = kind == Kind::Branch && all[from].object.is_some();
            edges.push((from, to, steps(edge.distance).max(u32::from(decided))));
        }
    }
    edges.sort_unstable_by_key(|(from, to, distance)| (*from, *to, std::cmp::Reverse(*distance)));
    edges.dedup_by_key(|(from, to, _)| (*from, *to));
    for (from, to, distance) in edges {
        all[from].feeds.push(Edge { node: to, distance });
        all[to].needs.push(Edge { node: from, distance });
    }
    Units { all, of, knots: Vec::new() }
}
