//! Memory and stateful ALUs of registers, counters, meters and tables.

use netkv_ir::{CounterUnit, MatchKind, Program, Register, Table, TableId};

use crate::effects::Object;
use crate::target::Target;

/// Bits of a counter of packets or bytes.
const COUNTER_BITS: u64 = 64;
/// Bits of a meter: two token buckets, their rates and the time.
const METER_BITS: u64 = 128;

/// An array of cells. It cannot span stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) kib: u64,
    /// Whether it needs a stateful ALU; counters have ALUs of their own.
    pub(crate) alu: bool,
}

/// The resources of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) arrays: Vec<Array>,
    /// Whether all arrays must be in one stage.
    pub(crate) together: bool,
    /// Memory for entries; it may span stages.
    pub(crate) table_kib: u64,
    /// Bits of ternary memory.
    pub(crate) tcam_bits: u64,
}

/// The resources of an object. `updates`: a value written to a register depends on a read value.
pub(crate) fn demand(program: &Program, target: &Target, object: Object, updates: bool) -> Demand {
    match object {
        Object::Register(id) => {
            let arrays = cells(target, &program.registers[id as usize]);
            let together = updates && arrays.len() > 1;
            Demand { arrays, together, ..Demand::default() }
        }
        Object::Counter(id) => {
            let counter = &program.counters[id as usize];
            Demand {
                arrays: vec![counters(target, counter.unit, counter.size.into())],
                ..Demand::default()
            }
        }
        Object::Meter(id) => {
            let size = program.meters[id as usize].size;
            Demand { arrays: vec![meters(target, size.into())], ..Demand::default() }
        }
        Object::Table(id) => table(program, target, id),
    }
}

/// A register as arrays of the target's width.
fn cells(target: &Target, register: &Register) -> Vec<Array> {
    let whole = register.width / target.cell_bits;
    let rest = register.width % target.cell_bits;
    let array = |bits: u32| {
        // Cells of 1, 8, 16 and 32 bits.
        let bits = if bits == 1 { 1 } else { bits.max(8).next_power_of_two() };
        Array { kib: target.kib(u64::from(bits) * u64::from(register.size)), alu: true }
    };
    let widths = std::iter::repeat_n(target.cell_bits, whole as usize);
    widths.chain((rest > 0).then_some(rest)).map(array).collect()
}

fn counters(target: &Target, unit: CounterUnit, size: u64) -> Array {
    let bits = COUNTER_BITS * if unit == CounterUnit::Both { 2 } else { 1 };
    Array { kib: target.kib(bits.saturating_mul(size)), alu: false }
}

fn meters(target: &Target, size: u64) -> Array {
    Array { kib: target.kib(METER_BITS.saturating_mul(size)), alu: true }
}

fn table(program: &Program, target: &Target, id: TableId) -> Demand {
    let table = &program.tables[id as usize];
    let mut demand = Demand::default();
    if let Some(counter) = table.direct_counter {
        let unit = program.counters[counter as usize].unit;
        demand.arrays.push(counters(target, unit, table.size));
    }
    if table.direct_meter.is_some() {
        demand.arrays.push(meters(target, table.size));
    }
    let overhead = u64::from(target.entry_bits);
    let mut data = data_bits(program, table);
    if let Some(profile) = table.action_profile {
        let profile_of = &program.action_profiles[profile as usize];
        // Tables may share a profile; its memory is counted for the first of them.
        if profile_of.tables.first() == Some(&id) {
            demand.table_kib += target.kib((data + overhead).saturating_mul(profile_of.size));
            if profile_of.selector.is_some() {
                let kib = target.kib(profile_of.size);
                demand.arrays.push(Array { kib, alu: true });
            }
        }
        data = u64::from(u64::BITS - profile_of.size.leading_zeros());
    }
    let keys = || table.keys.iter().filter(|key| key.kind != MatchKind::Selector);
    let key_bits: u64 = keys().map(|key| u64::from(key.width)).sum();
    if key_bits == 0 {
        // A table without a key has only a default action, with data unless they are constant.
        demand.table_kib += if data > 0 && !table.const_default { target.kib(data) } else { 0 };
    } else if keys().all(|key| key.kind == MatchKind::Exact) {
        let bits = (key_bits + data + overhead).saturating_mul(table.size);
        demand.table_kib += target.kib(bits.saturating_mul(target.table_percent.into()) / 100);
    } else {
        // If one key is not exact, all are matched in ternary memory, with value and mask.
        demand.tcam_bits = (2 * key_bits).saturating_mul(table.size);
        demand.table_kib += target.kib((data + overhead).saturating_mul(table.size));
    }
    demand
}

/// Bits of the longest action data.
fn data_bits(program: &Program, table: &Table) -> u64 {
    let bits = |action: u32| -> u64 {
        let params = &program.actions[action as usize].params;
        params.iter().map(|param| u64::from(param.width)).sum()
    };
    table.actions.iter().map(|action| bits(action.action)).max().unwrap_or(0)
}
