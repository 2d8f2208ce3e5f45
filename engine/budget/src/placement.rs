//! Assigns a stage to every unit, by list scheduling.
//!
//! A unit gets the earliest stage that its dependencies allow and that has the resources. If units
//! compete for a stage, the one with the longest critical path behind it goes first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::effects::Object;
use crate::memory::Demand;
use crate::target::Target;
use crate::units::{UnitId, Units};

/// The resources of one stage that a unit takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) unit: UnitId,
    pub(crate) stage: u32,
    pub(crate) arrays: u32,
    pub(crate) state_kib: u64,
    pub(crate) table_kib: u64,
}

/// The stages of all units, from 0.
#[derive(Debug)]
pub(crate) struct Placement {
    /// The stage at whose end the result of the unit is available.
    pub(crate) finish_stage: Vec<u32>,
    /// The first stage that its dependencies allow.
    pub(crate) earliest_stage: Vec<u32>,
    /// In order of stages, of the units that take resources.
    pub(crate) allocations: Vec<Allocation>,
    /// For each object the unit that is placed first. It takes the resources of the object.
    pub(crate) owners: BTreeMap<Object, UnitId>,
}

/// The resources of one stage that are in use.
#[derive(Debug, Default)]
struct StageUse {
    arrays: u32,
    state_kib: u64,
    table_kib: u64,
}

/// Places all units. `demands` has the resources that objects take.
pub(crate) fn place(
    units: &Units,
    mut demands: BTreeMap<Object, Demand>,
    target: &Target,
) -> Placement {
    let count = units.all.len();
    let critical_paths = critical_paths(units);
    let mut placement = Placement {
        finish_stage: vec![0; count],
        earliest_stage: vec![0; count],
        allocations: Vec::new(),
        owners: BTreeMap::new(),
    };
    let mut pending: Vec<usize> = units.all.iter().map(|unit| unit.dependencies.len()).collect();
    let mut by_stage: BTreeMap<u32, Vec<UnitId>> = BTreeMap::new();
    for (id, unit) in units.all.iter().enumerate() {
        placement.earliest_stage[id] = unit.earliest;
        if pending[id] == 0 {
            by_stage.entry(unit.earliest).or_default().push(id);
        }
    }
    let mut deferred: Vec<UnitId> = Vec::new();
    let mut stage = 0;
    loop {
        if deferred.is_empty() {
            match by_stage.keys().next() {
                Some(next) => stage = stage.max(*next),
                None => return placement,
            }
        }
        let rank = |id: UnitId| (critical_paths[id], Reverse(units.all[id].nodes[0]), id);
        let now = by_stage.remove(&stage).unwrap_or_default();
        let mut ready: BinaryHeap<_> = deferred.drain(..).chain(now).map(rank).collect();
        let mut stage_use = StageUse::default();
        while let Some((_, _, id)) = ready.pop() {
            if let Some(object) = units.all[id].object
                && *placement.owners.entry(object).or_insert(id) == id
                && let Some(demand) = demands.get_mut(&object)
            {
                let allocation = stage_use.take(id, stage, demand, target);
                if allocation.arrays > 0 || allocation.state_kib > 0 || allocation.table_kib > 0 {
                    placement.allocations.push(allocation);
                }
                if !demand.arrays.is_empty() || demand.table_kib > 0 {
                    deferred.push(id);
                    continue;
                }
            }
            placement.finish_stage[id] = stage;
            for edge in &units.all[id].dependents {
                let next = edge.node;
                placement.earliest_stage[next] =
                    placement.earliest_stage[next].max(stage + edge.distance);
                pending[next] -= 1;
                if pending[next] > 0 {
                    continue;
                }
                match placement.earliest_stage[next] {
                    earliest if earliest <= stage => ready.push(rank(next)),
                    earliest => by_stage.entry(earliest).or_default().push(next),
                }
            }
        }
        stage += 1;
    }
}

impl StageUse {
    /// Takes as much as fits; the rest of the demand remains for the next stage. An array that
    /// exceeds every stage gets an unused one, and [`crate::limits`] reports the excess.
    fn take(
        &mut self,
        unit: UnitId,
        stage: u32,
        demand: &mut Demand,
        target: &Target,
    ) -> Allocation {
        let mut allocation = Allocation { unit, stage, arrays: 0, state_kib: 0, table_kib: 0 };
        let mut batch = if demand.together { demand.arrays.len() } else { 1 };
        while batch > 0 && !demand.arrays.is_empty() {
            batch = batch.min(demand.arrays.len());
            let alus = demand.arrays[..batch].iter().filter(|array| array.alu).count() as u32;
            let kib: u64 = demand.arrays[..batch].iter().map(|array| array.kib).sum();
            let fits = self.arrays + alus <= target.arrays_per_stage
                && self.state_kib + kib <= target.state_kib.into();
            let empty = self.arrays == 0 && self.state_kib == 0;
            if !fits && !empty {
                break;
            }
            demand.arrays.drain(..batch);
            self.arrays += alus;
            self.state_kib += kib;
            allocation.arrays += alus;
            allocation.state_kib += kib;
        }
        // A table that exceeds the switch takes all of its stages, and not more.
        demand.table_kib =
            demand.table_kib.min(u64::from(target.stages) * u64::from(target.table_kib));
        if demand.arrays.is_empty() && demand.table_kib > 0 {
            let left = u64::from(target.table_kib).saturating_sub(self.table_kib);
            let taken = demand.table_kib.min(left);
            demand.table_kib -= taken;
            self.table_kib += taken;
            allocation.table_kib = taken;
        }
        allocation
    }
}

/// For each unit the length of its critical path: the minimum number of stages after it.
fn critical_paths(units: &Units) -> Vec<u32> {
    let mut critical_paths = vec![0; units.all.len()];
    let mut pending: Vec<usize> = units.all.iter().map(|unit| unit.dependents.len()).collect();
    let mut ready: Vec<UnitId> = (0..pending.len()).filter(|unit| pending[*unit] == 0).collect();
    while let Some(id) = ready.pop() {
        for edge in &units.all[id].dependencies {
            critical_paths[edge.node] =
                critical_paths[edge.node].max(critical_paths[id] + edge.distance);
            pending[edge.node] -= 1;
            if pending[edge.node] == 0 {
                ready.push(edge.node);
            }
        }
    }
    critical_paths
}
