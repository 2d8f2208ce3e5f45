//! The estimate for one pipeline.

use std::collections::{BTreeMap, BTreeSet};

use netkv_ir::{BlockId, Cfg, Program};

use crate::dependencies::{Around, Edge, Graph};
use crate::describe::Names;
use crate::effects::{Kind, Object};
use crate::limits;
use crate::memory::{Demand, demand};
use crate::phv::phv;
use crate::place::{Schedule, place};
use crate::report::{Link, Pipeline, Placed, Stage};
use crate::target::Target;
use crate::units::{UnitId, Units};
use crate::visits::{Visit, visits};
use crate::warnings::warnings;

/// What the parts of an estimate work on.
struct Estimate<'a> {
    names: &'a Names<'a>,
    graph: Graph,
    units: Units,
    schedule: Schedule,
}

/// The estimate for a graph, and the objects that it uses.
pub(crate) fn estimate(
    program: &Program,
    target: &Target,
    names: &Names<'_>,
    cfg: &Cfg,
    around: &Around<'_>,
) -> (Pipeline, BTreeSet<Object>) {
    let graph = Graph::new(program, cfg, around);
    let (visits, clashes) = visits(&graph);
    let units = Units::new(&graph, &visits, &clashes);
    let mut updates: BTreeMap<Object, bool> = BTreeMap::new();
    for visit in &visits {
        *updates.entry(visit.object).or_default() |= visit.updates;
    }
    let demands: BTreeMap<Object, Demand> = updates
        .into_iter()
        .map(|(object, updates)| (object, demand(program, target, object, updates)))
        .collect();
    let schedule = place(&units, demands.clone(), target);
    let warnings = warnings(program, target, names, &graph, (&visits, &clashes, &units));
    let actions = actions(program, &graph, &units, &schedule, &visits, &demands);
    let estimate = Estimate { names, graph, units, schedule };
    let count = estimate.count();
    let phv = phv(program, &estimate.graph, around, &estimate.units, &estimate.schedule, count);
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

/// Actions of the tables, those that a compiler makes of what stands outside of tables (one for
/// each block of the program and stage), and those of stateful ALUs (one for each way to use an
/// array).
fn actions(
    program: &Program,
    graph: &Graph,
    units: &Units,
    schedule: &Schedule,
    visits: &[Visit],
    demands: &BTreeMap<Object, Demand>,
) -> u32 {
    let mut count = 0;
    let mut stage_of_table: BTreeMap<BlockId, u32> = BTreeMap::new();
    for (object, demand) in demands {
        count += match object {
            Object::Table(id) => program.tables[*id as usize].actions.len(),
            Object::Register(_) => {
                let of = visits.iter().filter(|visit| visit.object == *object);
                demand.arrays.len() * of.map(|visit| ways(graph, visit)).sum::<usize>()
            }
            Object::Counter(_) | Object::Meter(_) => 0,
        };
    }
    let mut made: BTreeSet<(BlockId, u32)> = BTreeSet::new();
    let placed = || graph.ids().filter_map(|id| Some((&graph.nodes[id], units.of[id]?)));
    for (node, unit) in placed() {
        if matches!(node.kind, Kind::Apply(_)) {
            stage_of_table.insert(node.block, schedule.done[unit]);
        }
    }
    for (node, unit) in placed() {
        if node.kind == Kind::Branch || units.all[unit].object.is_some() {
            continue;
        }
        let stage = schedule.done[unit];
        // What is in the stage of the table that it is an action of belongs to that action.
        let in_action = graph.flow.deciders[node.block as usize]
            .iter()
            .any(|block| stage_of_table.get(block) == Some(&stage));
        if !in_action {
            made.insert((node.block, stage));
        }
    }
    (count + made.len()) as u32
}

/// Groups of accesses that no packet does together.
fn ways(graph: &Graph, visit: &Visit) -> usize {
    let blocks: BTreeSet<BlockId> =
        visit.accesses.iter().map(|access| graph.nodes[*access].block).collect();
    let led_to = |block: &&BlockId| {
        blocks.iter().any(|other| graph.flow.after(*other).contains(**block as usize))
    };
    blocks.len() - blocks.iter().filter(led_to).count()
}

impl Estimate<'_> {
    fn occupies(&self, unit: UnitId) -> bool {
        let nodes = &self.units.all[unit].nodes;
        nodes.iter().any(|node| self.graph.nodes[*node].kind != Kind::Branch)
    }

    /// Stages that are needed.
    fn count(&self) -> u32 {
        let units = (0..self.units.all.len()).filter(|unit| self.occupies(*unit));
        units.map(|unit| self.schedule.done[unit] + 1).max().unwrap_or(0)
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
        for piece in &self.schedule.pieces {
            let stage = stages.entry(piece.stage).or_insert_with(|| empty(piece.stage));
            stage.arrays += piece.arrays;
            stage.state_kib += piece.state_kib;
            stage.table_kib += piece.table_kib;
            if let Some(object) = self.units.all[piece.unit].object {
                let kib = piece.state_kib + piece.table_kib;
                stage.placed.push(placed(object, piece.arrays, kib, false));
                has_piece.insert(piece.unit);
            }
        }
        for (id, unit) in self.units.all.iter().enumerate() {
            if !self.occupies(id) {
                continue;
            }
            let at = self.schedule.done[id];
            let stage = stages.entry(at).or_insert_with(|| empty(at));
            match unit.object {
                Some(_) if has_piece.contains(&id) => {}
                Some(object) => {
                    let again = self.schedule.owners.get(&object) != Some(&id);
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

    /// From a unit of the last stage back to one that waits for nobody.
    fn longest_chain(&self) -> Vec<Link> {
        let units = 0..self.units.all.len();
        let done = &self.schedule.done;
        let last = units
            .filter(|unit| self.occupies(*unit))
            .max_by_key(|unit| (done[*unit], std::cmp::Reverse(self.units.all[*unit].nodes[0])));
        let mut chain = Vec::new();
        let mut next = last;
        while let Some(id) = next {
            let unit = &self.units.all[id];
            let ready = self.schedule.ready[id];
            let node = &self.graph.nodes[unit.nodes[0]];
            chain.push(Link {
                stage: done[id] + 1,
                what: self.names.node(node),
                at: self.names.position(node),
                delayed: done[id] - ready,
            });
            let waited_for = |edge: &&Edge| done[edge.node] + edge.distance == ready;
            // Of those that it waits for at once, the one that is furthest away tells most.
            let before = unit.needs.iter().filter(waited_for);
            next = before.max_by_key(|edge| (edge.distance, edge.node)).map(|edge| edge.node);
        }
        chain.reverse();
        chain
    }
}
