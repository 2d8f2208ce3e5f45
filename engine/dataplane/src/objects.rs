//! The stateful objects of a pipeline: tables, registers, counters, meters and value sets.
//!
//! They persist across packets. The control plane and all executors access the same objects.

use std::iter::Sum;

use netkv_ir::{CounterUnit, HashAlgorithm, Match, Program};

use crate::counters::CounterData;
use crate::error::ProgramError;
use crate::hash;
use crate::meters::Meter;
use crate::random::Random;
use crate::registers::Registers;
use crate::replication::CopyTarget;
use crate::tables::{BoundAction, EntryKind, ExactMap, IntervalMap, Profile, Table};
use crate::value_sets::member_holds;

/// A meter array.
#[derive(Debug)]
pub(crate) struct MeterArray {
    pub(crate) unit: CounterUnit,
    pub(crate) cells: Vec<Meter>,
}

/// The stateful objects of a pipeline, with the indices of the [`Program`].
#[derive(Debug)]
pub struct Objects {
    tables: Vec<Table>,
    /// Increases with every change of a table, which may move entries in memory, or of the targets
    /// of copies.
    generation: u64,
    clone_targets: Vec<CopyTarget>,
    group_targets: Vec<Vec<CopyTarget>>,
    /// Register arrays.
    pub registers: Registers,
    pub(crate) counters: Vec<Vec<CounterData>>,
    pub(crate) meters: Vec<MeterArray>,
    /// For each direct meter, the colour at the last hit of its table.
    pub(crate) direct_colours: Vec<u64>,
    pub(crate) profiles: Vec<Profile>,
    /// Members of each value set, one match per key.
    pub(crate) value_sets: Vec<Vec<Vec<Match>>>,
    /// Source of randomness.
    pub random: Random,
    /// Events that executors count.
    pub counts: Counts,
    /// How often each of the program's assertions was false.
    pub failed_assertions: Box<[u64]>,
}

/// Counters of rare events. The layout is fixed, because compiled code writes them.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Counts {
    /// Graphs that were stopped because of an endless loop.
    pub endless_graphs: u64,
    /// Packets that left the parser with an error.
    pub parser_errors: u64,
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            endless_graphs: sum.endless_graphs + part.endless_graphs,
            parser_errors: sum.parser_errors + part.parser_errors,
        })
    }
}

/// Result of applying a table.
pub struct ApplyResult<'a> {
    /// An entry matched.
    pub hit: bool,
    pub(crate) action: &'a BoundAction,
    /// Index of the action in the table.
    pub index: u32,
    /// Id of the entry, for traces.
    pub(crate) entry: Option<u32>,
}

impl<'a> ApplyResult<'a> {
    /// Words of the action's parameters.
    pub fn data(&self) -> &'a [u64] {
        &self.action.words
    }
}

impl Objects {
    /// Objects of a validated program: tables have their initial entries, everything else is 0.
    pub(crate) fn new(program: &Program, seed: u64) -> Result<Self, ProgramError> {
        let mut objects = Self {
            tables: Vec::new(),
            generation: 0,
            clone_targets: Vec::new(),
            group_targets: Vec::new(),
            registers: Registers::new(program),
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
            counts: Counts::default(),
            failed_assertions: vec![0; program.assertions.len()].into(),
        };
        for table in &program.tables {
            objects.tables.push(Table::new(program, table)?);
        }
        Ok(objects)
    }

    /// The tables in the order of the program.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The tables for changes.
    pub(crate) fn tables_mut(&mut self) -> &mut [Table] {
        self.generation += 1;
        &mut self.tables
    }

    /// A number that changes with every change of a table or of the targets of copies. Their
    /// addresses are valid until then.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The targets of clone sessions by number. Sessions that are missing here may have clones that
    /// only the switch can make.
    pub fn clone_targets(&self) -> &[CopyTarget] {
        &self.clone_targets
    }

    /// The copies of multicast groups by number. Only the switch can make those of groups that are
    /// missing or empty here.
    pub fn group_targets(&self) -> &[Vec<CopyTarget>] {
        &self.group_targets
    }

    pub(crate) fn set_clone_targets(&mut self, targets: Vec<CopyTarget>) {
        self.generation += 1;
        self.clone_targets = targets;
    }

    pub(crate) fn set_group_targets(&mut self, targets: Vec<Vec<CopyTarget>>) {
        self.generation += 1;
        self.group_targets = targets;
    }

    /// Looks up `key` and returns the action to run. Updates the direct counter and meter of the
    /// entry. `selector` is the hash input that chooses a member of a group.
    pub fn apply(
        &mut self,
        table: u32,
        key: &[u64],
        selector: &[u8],
        bytes: u32,
        now_ns: u64,
    ) -> ApplyResult<'_> {
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
                let hash = hash::hash(table.selector?, selector, &mut self.random);
                profile.choose(*group, hash)
            }
            EntryKind::OneShot(actions) => {
                let hash = hash::hash(table.selector?, selector, &mut self.random);
                crate::tables::weighted(actions.iter().map(|(a, weight)| (a, *weight)), hash)
            }
        });
        // An entry whose group is empty is a miss.
        let hit = chosen.is_some();
        let action = chosen.unwrap_or(&table.default);
        let index = table.index_of(action.action).unwrap_or(0);
        ApplyResult { hit, action, index, entry: found.filter(|_| hit) }
    }

    /// The hash table of a table whose hits only need the action data. Such a table has exact keys,
    /// and no profile, direct counter, direct meter or idle timeout.
    pub fn exact_map(&self, table: usize) -> Option<&ExactMap> {
        let table = &self.tables[table];
        table.exact().filter(|_| table.hits_need_only_data())
    }

    /// Number of words of a slot of [`Objects::interval_map`], with any entries; none if the table
    /// has no such map. A table that has one has a single range or lpm key of up to 64 bits, and
    /// its hits only need the action data.
    pub fn interval_slot_words(&self, table: usize) -> Option<usize> {
        IntervalMap::slot_words_of(&self.tables[table])
    }

    /// A copy of the table as intervals; none if it has too many entries for that.
    pub fn interval_map(&self, table: usize) -> Option<IntervalMap> {
        IntervalMap::new(&self.tables[table])
    }

    /// A number that changes with every change of an entry of the table.
    pub fn table_changes(&self, table: usize) -> u64 {
        self.tables[table].changes()
    }

    /// Default action of a table: its index in the table's list, and the words of its parameters.
    pub fn default_action(&self, table: usize) -> (u32, &[u64]) {
        let table = &self.tables[table];
        (table.index_of(table.default.action).unwrap_or(0), &table.default.words)
    }

    /// The cells of a counter array; empty for a direct counter.
    pub fn counter_cells(&mut self, counter: usize) -> &mut [CounterData] {
        &mut self.counters[counter]
    }

    /// Meters a packet, and returns its colour. `None`: the meter has no such cell.
    pub fn execute_meter(
        &mut self,
        meter: usize,
        index: u64,
        bytes: u32,
        now_ns: u64,
    ) -> Option<u64> {
        let meter = &mut self.meters[meter];
        let cell = usize::try_from(index).ok().and_then(|index| meter.cells.get_mut(index))?;
        Some(cell.execute(meter.unit, bytes, now_ns))
    }

    /// Colour that a direct meter returned at the last hit of its table.
    pub fn direct_colour(&self, meter: usize) -> u64 {
        self.direct_colours[meter]
    }

    /// True if a value set contains the concatenated keys of a select.
    pub fn value_set_holds(&self, set: u32, key: &[u64]) -> bool {
        self.value_sets[set as usize].iter().any(|member| member_holds(member, key))
    }

    /// Hash of bytes.
    pub fn hash(&mut self, algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        hash::hash(algorithm, data, &mut self.random)
    }
}
