//! The estimate for one pipeline.

use std::collections::{BTreeMap, BTreeSet};

use netkv_ir::{BlockId, Cfg, Program};

use crate::access_groups::{AccessGroup, access_groups};
use crate::dependencies::Graph;
use crate::describe::Names;
use crate::effects::{Kind, Object};
use crate::limits;
use crate::memory::{Demand, demand};
use crate::nodes::{Boundary, Edge};
use crate::phv::phv;
use crate::placement::{Placement, place};
use crate::report::{ChainLink, Pipeline, Placed, Stage};
use crate::target::Target;
use crate::units::{UnitId, Units};
use crate::warnings::warnings;

/// The intermediate results of an estimate.
struct Estimate<'a> {
    names: &'a Names<'a>,
    graph: Graph,
    units: Units,
    placement: Placement,
}

/// Estimates a graph. Also returns the objects that it uses.
pub(crate) fn estimate(
    program: &Program,
    target: &Target,
    names: &Names<'_>,
    cfg: &Cfg,
    boundary: &Boundary<'_>,
) -> (Pipeline, BTreeSet<Object>) {
    let graph = Graph::new(program, cfg, boundary);
    let (groups, conflicts) = access_groups(&graph);
    let units = Units::new(&graph, &groups, &conflicts);
    let mut updates: BTreeMap<Object, bool> = BTreeMap::new();
    for group in &groups {
        *updates.entry(group.object).or_default() |= group.updates;
    }
    let demands: BTreeMap<Object, Demand> = updates
        .into_iter()
        .map(|(object, updates)| (object, demand(program, target, object, updates)))
        .collect();
    let placement = place(&units, demands.clone(), target);
    let warnings = warnings(program, target, names, &graph, (&groups, &conflicts, &units));
    let actions = actions(program, &graph, &units, &placement, &groups, &demands);
    let estimate = Estimate { names, graph, units, placement };
    let count = estimate.count();
    let phv = phv(program, &estimate.graph, boundary, &estimate.units, &estimate.placement, count);
    let usage = limits::usage(target, count, &demands, &phv);
    let tcam: u64 = demands.values().map(|demand| demand.tcam_bits).sum();
    let pipeline = Pipeline {
        exceeded: limits::exceeded(target, names, &usage, &demands),
        usage,
        actions,
        tcam_kib: (tcam as f64 / 819.2).round() / 10.0,
        phv,
        stages: estimate.stages(),
        longest_chain: estimate.longest_chain(),
        warnings,
    };
    (pipeline, demands.into_keys().collect())
}

/// Counts actions. They are those of the tables; one for each block and stage with assignments
/// outside of tables; and one for each mutually exclusive access to an array.
fn actions(
    program: &Program,
    graph: &Graph,
    units: &Units,
    placement: &Placement,
    groups: &[AccessGroup],
    demands: &BTreeMap<Object, Demand>,
) -> u32 {
    let mut count = 0;
    let mut stage_of_table: BTreeMap<BlockId, u32> = BTreeMap::new();
    for (object, demand) in demands {
        count += match object {
            Object::Table(id) => program.tables[*id as usize].actions.len(),
            Object::Register(_) => {
                let of = groups.iter().filter(|group| group.object == *object);
                demand.arrays.len() * of.map(|group| alternatives(graph, group)).sum::<usize>()
            }
            Object::Counter(_) | Object::Meter(_) => 0,
        };
    }
    let mut compiler_actions: BTreeSet<(BlockId, u32)> = BTreeSet::new();
    let placed = || graph.ids().filter_map(|id| Some((&graph.nodes[id], units.unit_of[id]?)));
    for (node, unit) in placed() {
        if matches!(node.kind, Kind::Apply(_)) {
            stage_of_table.insert(node.block, placement.finish_stage[unit]);
        }
    }
    for (node, unit) in placed() {
        if node.kind == Kind::Branch || units.all[unit].object.is_some() {
            continue;
        }
        let stage = placement.finish_stage[unit];
        // A node of a table's action, in the stage of the table, belongs to that action.
        let in_action = graph.flow.control_dependences[node.block as usize]
            .iter()
            .any(|block| stage_of_table.get(block) == Some(&stage));
        if !in_action {
            compiler_actions.insert((node.block, stage));
        }
    }
    (count + compiler_actions.len()) as u32
}

/// The number of mutually exclusive sets of accesses in a group.
fn alternatives(graph: &Graph, group: &AccessGroup) -> usize {
    let blocks: BTreeSet<BlockId> =
        group.accesses.iter().map(|access| graph.nodes[*access].block).collect();
    let led_to = |block: &&BlockId| {
        blocks.iter().any(|other| graph.flow.reachable_from(*other).contains(**block as usize))
    };
    blocks.len() - blocks.iter().filter(led_to).count()
}

impl Estimate<'_> {
    fn occupies(&self, unit: UnitId) -> bool {
        let nodes = &self.units.all[unit].nodes;
        nodes.iter().any(|node| self.graph.nodes[*node].kind != Kind::Branch)
    }

    /// The number of stages in use.
    fn count(&self) -> u32 {
        let units = (0..self.units.all.len()).filter(|unit| self.occupies(*unit));
        units.map(|unit| self.placement.finish_stage[unit] + 1).max().unwrap_or(0)
    }

    fn stages(&self) -> Vec<Stage> {
        let mut stages: BTreeMap<u32, Stage> = BTreeMap::new();
        let empty = |stage: u32| Stage {
            stage: stage + 1,
            arrays: 0,
            state_kib: 0,
            table_kib: 0,
            placed: Vec::new(),
            hashes: 0,
            operations: 0,
        };
        let placed = |object: Object, arrays: u32, kib: u64, again: bool| Placed {
            what: self.names.what(object),
            name: self.names.name(object).to_string(),
            arrays,
            kib,
            again,
        };
        let mut has_piece = BTreeSet::new();
        for allocation in &self.placement.allocations {
            let stage = stages.entry(allocation.stage).or_insert_with(|| empty(allocation.stage));
            stage.arrays += allocation.arrays;
            stage.state_kib += allocation.state_kib;
            stage.table_kib += allocation.table_kib;
            if let Some(object) = self.units.all[allocation.unit].object {
                let kib = allocation.state_kib + allocation.table_kib;
                stage.placed.push(placed(object, allocation.arrays, kib, false));
                has_piece.insert(allocation.unit);
            }
        }
        for (id, unit) in self.units.all.iter().enumerate() {
            if !self.occupies(id) {
                continue;
            }
            let at = self.placement.finish_stage[id];
            let stage = stages.entry(at).or_insert_with(|| empty(at));
            match unit.object {
                Some(_) if has_piece.contains(&id) => {}
                Some(object) => {
                    let again = self.placement.owners.get(&object) != Some(&id);
                    stage.placed.push(placed(object, 0, 0, again));
                }
                None => match self.graph.nodes[unit.nodes[0]].kind {
                    Kind::Hash => stage.hashes += 1,
                    _ => stage.operations += 1,
                },
            }
        }
        stages.into_values().collect()
    }

    /// The critical path: from a unit of the last stage back to one without dependencies.
    fn longest_chain(&self) -> Vec<ChainLink> {
        let units = 0..self.units.all.len();
        let done = &self.placement.finish_stage;
        let last = units
            .filter(|unit| self.occupies(*unit))
            .max_by_key(|unit| (done[*unit], std::cmp::Reverse(self.units.all[*unit].nodes[0])));
        let mut chain = Vec::new();
        let mut next = last;
        while let Some(id) = next {
            let unit = &self.units.all[id];
            let ready = self.placement.earliest_stage[id];
            let node = &self.graph.nodes[unit.nodes[0]];
            chain.push(ChainLink {
                stage: done[id] + 1,
                what: self.names.node(node),
                at: self.names.position(node),
                delayed: done[id] - ready,
            });
            let waited_for = |edge: &&Edge| done[edge.node] + edge.distance == ready;
            // Of several critical dependencies, the most distant one explains the most stages.
            let predecessors = unit.dependencies.iter().filter(waited_for);
            next = predecessors.max_by_key(|edge| (edge.distance, edge.node)).map(|edge| edge.node);
        }
        chain.reverse();
        chain
    }
}
