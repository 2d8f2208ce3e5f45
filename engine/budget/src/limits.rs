//! The use of each limited resource, and a sentence for each limit that is exceeded.

use std::collections::BTreeMap;

use crate::describe::Names;
use crate::effects::Object;
use crate::memory::Demand;
use crate::report::{Phv, Share, Usage};
use crate::target::Target;

/// The use of each resource, from the number of stages, the demands of objects and the PHV.
pub(crate) fn usage(
    target: &Target,
    stages: u32,
    demands: &BTreeMap<Object, Demand>,
    phv: &Phv,
) -> Usage {
    let arrays = || demands.values().flat_map(|demand| &demand.arrays);
    let state: u64 = arrays().map(|array| array.kib).sum();
    let table: u64 = demands.values().map(|demand| demand.table_kib).sum();
    let all = |each: u32| u64::from(target.stages) * u64::from(each);
    let alus = arrays().filter(|array| array.alu).count() as u64;
    Usage {
        stages: Share::new(stages.into(), target.stages.into()),
        arrays: Share::new(alus, all(target.arrays_per_stage)),
        state_kib: Share::new(state, all(target.state_kib)),
        table_kib: Share::new(table, all(target.table_kib)),
        sram_kib: Share::new(state + table, target.sram_kib()),
        phv_bytes: Share::new(phv.bytes(), target.phv_bytes.into()),
    }
}

/// A sentence for each limit that is exceeded.
pub(crate) fn exceeded(
    target: &Target,
    names: &Names<'_>,
    usage: &Usage,
    demands: &BTreeMap<Object, Demand>,
) -> Vec<String> {
    let mut sentences = Vec::new();
    for (object, demand) in demands {
        let name = names.title(*object);
        let largest = demand.arrays.iter().map(|array| array.kib).max().unwrap_or(0);
        let arrays = demand.arrays.iter().filter(|array| array.alu).count();
        if largest > target.state_kib.into() {
            sentences.push(format!(
                "An array of {name} takes {largest} KiB; a stage has {} KiB for it, and an array \
                 cannot span stages.",
                target.state_kib
            ));
        } else if demand.together && arrays > target.arrays_per_stage as usize {
            sentences.push(format!(
                "The {arrays} arrays of {name} have to be in one stage, which has {}.",
                target.arrays_per_stage
            ));
        }
    }
    let limits = [
        ("stages", "", usage.stages),
        ("register arrays", "", usage.arrays),
        ("memory for registers", " KiB", usage.state_kib),
        ("memory for tables", " KiB", usage.table_kib),
        ("packet header vector", " bytes", usage.phv_bytes),
    ];
    for (what, unit, share) in limits {
        if share.is_over() {
            let Share { used, limit, percent } = share;
            sentences.push(format!("{what}: {used}{unit} of {limit}{unit} ({percent:.0}%)."));
        }
    }
    sentences
}
