//! Everything that outlives a packet and that programs and the control plane share:
//! one set of tables, registers, counters and meters under every executor.

use netkv_ir::{CounterUnit, Match, Program};

use crate::bits::BitWriter;
use crate::counters::CounterData;
use crate::error::ProgramError;
use crate::hash;
use crate::meters::Meter;
use crate::random::Random;
use crate::registers::Register;
use crate::tables::{EntryKind, Profile, Resolved, Table};

/// A meter array.
#[derive(Debug)]
pub(crate) struct MeterArray {
    pub(crate) unit: CounterUnit,
    pub(crate) cells: Vec<Meter>,
}

/// State that outlives packets, indexed as in the [`Program`].
#[derive(Debug)]
pub struct Objects {
    pub(crate) tables: Vec<Table>,
    /// Register arrays.
    pub registers: Vec<Register>,
    pub(crate) counters: Vec<Vec<CounterData>>,
    pub(crate) meters: Vec<MeterArray>,
    /// Colour at the last hit, per direct meter.
    pub(crate) direct_colours: Vec<u64>,
    pub(crate) profiles: Vec<Profile>,
    /// Members of each value set, one match per key.
    pub(crate) value_sets: Vec<Vec<Vec<Match>>>,
    /// Source of randomness.
    pub random: Random,
    /// Assertions that did not hold.
    pub(crate) failed_assertions: u64,
    /// Graphs stopped because they ran in circles.
    pub(crate) endless_graphs: u64,
}

/// What an apply found.
pub(crate) struct Applied<'a> {
    pub(crate) hit: bool,
    pub(crate) action: &'a Resolved,
    /// Index of the action in the table.
    pub(crate) index: u32,
    /// The entry, for traces.
    pub(crate) entry: Option<u32>,
}

impl Objects {
    /// Fresh objects for a checked program: constant entries in, everything else 0.
    pub(crate) fn new(program: &Program, seed: u64) -> Result<Self, ProgramError> {
        let mut objects = Self {
            tables: Vec::new(),
            registers: program.registers.iter().map(|r| Register::new(r.width, r.size)).collect(),
            counters: program
                .counters
                .iter()
                .map(|counter| vec![CounterData::default(); counter.size as usize])
                .collect(),
            meters: program
                .meters
                .iter()
                .map(|meter| MeterArray {
                    unit: meter.unit,
                    cells: vec![Meter::default(); meter.size as usize],
                })
                .collect(),
            direct_colours: vec![0; program.meters.len()],
            profiles: program.action_profiles.iter().map(|_| Profile::default()).collect(),
            value_sets: vec![Vec::new(); program.value_sets.len()],
            random: Random::new(seed),
            failed_assertions: 0,
            endless_graphs: 0,
        };
        for table in &program.tables {
            objects.tables.push(Table::new(program, table)?);
        }
        Ok(objects)
    }

    /// Looks `key` up and finds the action to run. Counts and meters the hit.
    /// `selector` holds the bits that choose a member of a group.
    pub(crate) fn apply(
        &mut self,
        table: u32,
        key: &[u64],
        selector: &BitWriter,
        bytes: u32,
        now_ns: u64,
    ) -> Applied<'_> {
        let table = &mut self.tables[table as usize];
        let found = table.lookup(key);
        if let Some(id) = found {
            if table.direct_counter {
                table.entry_mut(id).counter.count(bytes);
            }
            if table.idle_timeout {
                table.entry_mut(id).last_hit_ns = now_ns;
            }
            if let Some(meter) = table.direct_meter {
                let unit = self.meters[meter as usize].unit;
                let colour = table.entry_mut(id).meter.execute(unit, bytes, now_ns);
                self.direct_colours[meter as usize] = colour;
            }
        } else if let Some(meter) = table.direct_meter {
            self.direct_colours[meter as usize] = 0;
        }
        let table = &*table;
        let chosen = found.and_then(|id| match &table.entry(id).kind {
            EntryKind::Direct(action) => Some(action),
            EntryKind::Member(member) => self.profiles[table.profile?].member(*member),
            EntryKind::Group(group) => {
                let profile = &self.profiles[table.profile?];
                let hash = hash::hash(table.selector?, selector.bytes(), &mut self.random);
                profile.choose(*group, hash)
            }
            EntryKind::OneShot(actions) => {
                let hash = hash::hash(table.selector?, selector.bytes(), &mut self.random);
                crate::tables::weighted(actions.iter().map(|(a, weight)| (a, *weight)), hash)
            }
        });
        // An entry whose group is empty acts like a miss.
        let hit = chosen.is_some();
        let action = chosen.unwrap_or(&table.default);
        let index = table.index_of(action.action).unwrap_or(0);
        Applied { hit, action, index, entry: found.filter(|_| hit) }
    }
}
