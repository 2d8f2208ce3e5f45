//! Gives every unit a stage: the earliest in which what it needs is there, and in which there is
//! room. Where room is short, those go first on which the longest chain hangs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::effects::Object;
use crate::memory::Demand;
use crate::target::Target;
use crate::units::{UnitId, Units};

/// What a unit takes in one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) unit: UnitId,
    pub(crate) stage: u32,
    pub(crate) arrays: u32,
    pub(crate) state_kib: u64,
    pub(crate) table_kib: u64,
}

/// Stages of all units, from 0.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The stage after which its result is there.
    pub(crate) done: Vec<u32>,
    /// The first stage in which it could have begun.
    pub(crate) ready: Vec<u32>,
    /// In order of stages; only of units that take something.
    pub(crate) pieces: Vec<Piece>,
    /// Of each object the unit that is placed first: it brings what the object takes.
    pub(crate) owners: BTreeMap<Object, UnitId>,
}

#[derive(Debug, Default)]
struct Room {
    arrays: u32,
    state_kib: u64,
    table_kib: u64,
}

/// Places all units. `demands`: what objects take.
pub(crate) fn place(
    units: &Units,
    mut demands: BTreeMap<Object, Demand>,
    target: &Target,
) -> Schedule {
    let count = units.all.len();
    let heights = heights(units);
    let mut schedule = Schedule {
        done: vec![0; count],
        ready: vec![0; count],
        pieces: Vec::new(),
        owners: BTreeMap::new(),
    };
    let mut waits: Vec<usize> = units.all.iter().map(|unit| unit.needs.len()).collect();
    let mut later: BTreeMap<u32, Vec<UnitId>> = BTreeMap::new();
    for (id, unit) in units.all.iter().enumerate() {
        schedule.ready[id] = unit.earliest;
        if waits[id] == 0 {
            later.entry(unit.earliest).or_default().push(id);
        }
    }
    let mut waiting: Vec<UnitId> = Vec::new();
    let mut stage = 0;
    loop {
        if waiting.is_empty() {
            match later.keys().next() {
                Some(next) => stage = stage.max(*next),
                None => return schedule,
            }
        }
        let rank = |id: UnitId| (heights[id], Reverse(units.all[id].nodes[0]), id);
        let now = later.remove(&stage).unwrap_or_default();
        let mut open: BinaryHeap<_> = waiting.drain(..).chain(now).map(rank).collect();
        let mut room = Room::default();
        while let Some((_, _, id)) = open.pop() {
            if let Some(object) = units.all[id].object
                && *schedule.owners.entry(object).or_insert(id) == id
                && let Some(demand) = demands.get_mut(&object)
            {
                let piece = room.take(id, stage, demand, target);
                if piece.arrays > 0 || piece.state_kib > 0 || piece.table_kib > 0 {
                    schedule.pieces.push(piece);
                }
                if !demand.arrays.is_empty() || demand.table_kib > 0 {
                    waiting.push(id);
                    continue;
                }
            }
            schedule.done[id] = stage;
            for edge in &units.all[id].feeds {
                let next = edge.node;
                schedule.ready[next] = schedule.ready[next].max(stage + edge.distance);
                waits[next] -= 1;
                if waits[next] > 0 {
                    continue;
                }
                match schedule.ready[next] {
                    ready if ready <= stage => open.push(rank(next)),
                    ready => later.entry(ready).or_default().push(next),
                }
            }
        }
        stage += 1;
    }
}

impl Room {
    /// Takes as much as fits, and leaves the rest of the demand for the next stage. What fits into
    /// no stage gets one that nobody else has used: how far it is over is told elsewhere.
    fn take(&mut self, unit: UnitId, stage: u32, demand: &mut Demand, target: &Target) -> Piece {
        let mut piece = Piece { unit, stage, arrays: 0, state_kib: 0, table_kib: 0 };
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
            piece.arrays += alus;
            piece.state_kib += kib;
        }
        // What is larger than the switch takes all of it, and no more stages than there are.
        demand.table_kib =
            demand.table_kib.min(u64::from(target.stages) * u64::from(target.table_kib));
        if demand.arrays.is_empty() && demand.table_kib > 0 {
            let left = u64::from(target.table_kib).saturating_sub(self.table_kib);
            let taken = demand.table_kib.min(left);
            demand.table_kib -= taken;
            self.table_kib += taken;
            piece.table_kib = taken;
        }
        piece
    }
}

/// How many stages still follow a unit, at least.
fn heights(units: &Units) -> Vec<u32> {
    let mut heights = vec![0; units.all.len()];
    let mut waits: Vec<usize> = units.all.iter().map(|unit| unit.feeds.len()).collect();
    let mut open: Vec<UnitId> = (0..waits.len()).filter(|unit| waits[*unit] == 0).collect();
    while let Some(id) = open.pop() {
        for edge in &units.all[id].needs {
            heights[edge.node] = heights[edge.node].max(heights[id] + edge.distance);
            waits[edge.node] -= 1;
            if waits[edge.node] == 0 {
                open.push(edge.node);
            }
        }
    }
    heights
}
