//! Control-plane requests for registers, counters and meters.

use netkv_ir::{Identity, Match, Value};

use super::pipeline_view::PipelineView;
use crate::counters::CounterData;
use crate::error::{ControlCode, ControlError};
use crate::meters::MeterConfig;
use crate::switch::Switch;

/// Index of an object by its P4Info id.
fn find_object<'a>(
    what: &str,
    id: u32,
    mut identities: impl Iterator<Item = &'a Identity>,
) -> Result<usize, ControlError> {
    identities.position(|identity| identity.id == id).ok_or_else(|| {
        ControlError::not_found(format!("The program has no {what} with id {id:#010x}."))
    })
}

/// The cells of a request: one, or all.
fn cell_range(
    identity: &Identity,
    size: usize,
    index: Option<u32>,
) -> Result<std::ops::Range<usize>, ControlError> {
    match index.map(|index| index as usize) {
        None => Ok(0..size),
        Some(index) if index < size => Ok(index..index + 1),
        Some(index) => Err(ControlError::new(
            ControlCode::OutOfRange,
            format!("'{}' has {size} cells, so there is no index {index}.", identity.name),
        )),
    }
}

impl PipelineView<'_> {
    fn register_index(&self, id: u32) -> Result<usize, ControlError> {
        find_object("register", id, self.program.registers.iter().map(|r| &r.identity))
    }

    fn counter_index(&self, id: u32) -> Result<usize, ControlError> {
        let at = find_object("counter", id, self.program.counters.iter().map(|c| &c.identity))?;
        if self.program.counters[at].direct.is_some() {
            let name = &self.program.counters[at].identity.name;
            return Err(ControlError::invalid(format!(
                "Counter '{name}' belongs to the entries of a table: name the entry."
            )));
        }
        Ok(at)
    }

    /// Table index and id of an entry. `what` is the direct extern that the table must have.
    fn find_direct_extern(
        &self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
        what: &str,
    ) -> Result<(usize, u32), ControlError> {
        let table = self.table_index(table_id)?;
        let ir = &self.program.tables[table];
        let has = if what == "counter" { ir.direct_counter } else { ir.direct_meter };
        if has.is_none() {
            let name = &ir.identity.name;
            return Err(ControlError::invalid(format!("Table '{name}' has no direct {what}.")));
        }
        Ok((table, self.existing_entry(table, matches, priority)?))
    }

    fn meter_index(&self, id: u32) -> Result<usize, ControlError> {
        let at = find_object("meter", id, self.program.meters.iter().map(|m| &m.identity))?;
        if self.program.meters[at].direct.is_some() {
            let name = &self.program.meters[at].identity.name;
            return Err(ControlError::invalid(format!(
                "Meter '{name}' belongs to the entries of a table: name the entry."
            )));
        }
        Ok(at)
    }
}

impl Switch {
    /// Reads one cell of a register, or all.
    ///
    /// # Errors
    ///
    /// `NotFound`, `OutOfRange`.
    pub fn read_register(
        &self,
        id: u32,
        index: Option<u32>,
    ) -> Result<Vec<(u32, Value)>, ControlError> {
        let view = self.view();
        let at = view.register_index(id)?;
        let registers = &view.objects.registers;
        let range = cell_range(
            &self.program.registers[at].identity,
            registers.layouts()[at].size as usize,
            index,
        )?;
        Ok(range.filter_map(|i| Some((i as u32, registers.value(at, i as u32)?))).collect())
    }

    /// Writes one cell of a register, or all.
    ///
    /// # Errors
    ///
    /// `NotFound`, `OutOfRange`, `InvalidArgument` (width).
    pub fn write_register(
        &mut self,
        id: u32,
        index: Option<u32>,
        value: &Value,
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.register_index(id)?;
                let identity = &view.program.registers[at].identity;
                let layout = view.objects.registers.layouts()[at];
                let range = cell_range(identity, layout.size as usize, index)?;
                let canonical = Value::from_words(value.width, value.words.clone());
                if value.width != layout.width || canonical != *value {
                    return Err(ControlError::invalid(format!(
                        "Register '{}' has cells of {} bits, but the value has {}.",
                        identity.name, layout.width, value.width
                    )));
                }
                Ok((at, range))
            },
            |objects, (at, range)| {
                for index in range {
                    objects.registers.write(at, index as u64, &value.words);
                }
            },
        )
    }

    /// Reads one cell of a counter, or all. The values are sums over the pipelines.
    ///
    /// # Errors
    ///
    /// `NotFound`, `OutOfRange`, `InvalidArgument` (a direct counter).
    pub fn read_counter(
        &self,
        id: u32,
        index: Option<u32>,
    ) -> Result<Vec<(u32, CounterData)>, ControlError> {
        let view = self.view();
        let at = view.counter_index(id)?;
        let size = view.objects.counters[at].len();
        let range = cell_range(&self.program.counters[at].identity, size, index)?;
        let sum = |i: usize| self.views().map(|view| view.objects.counters[at][i]).sum();
        Ok(range.map(|i| (i as u32, sum(i))).collect())
    }

    /// Sets one cell of a counter, or all. A read afterwards returns `data`.
    ///
    /// # Errors
    ///
    /// As [`Switch::read_counter`].
    pub fn write_counter(
        &mut self,
        id: u32,
        index: Option<u32>,
        mut data: CounterData,
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.counter_index(id)?;
                let identity = &view.program.counters[at].identity;
                Ok((at, cell_range(identity, view.objects.counters[at].len(), index)?))
            },
            // The first pipeline gets the value and the others 0, because a read adds them up.
            |objects, (at, range)| objects.counters[at][range].fill(std::mem::take(&mut data)),
        )
    }

    /// Reads the direct counter of an entry. The value is the sum over the pipelines.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidArgument` (no direct counter).
    pub fn read_direct_counter(
        &self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
    ) -> Result<CounterData, ControlError> {
        self.view().find_direct_extern(table_id, matches, priority, "counter")?;
        // A pipeline without the entry contributes nothing.
        let counters = self.views().filter_map(|view| {
            let (table, entry) =
                view.find_direct_extern(table_id, matches, priority, "counter").ok()?;
            Some(view.objects.tables()[table].entry(entry).counter)
        });
        Ok(counters.sum())
    }

    /// Sets the direct counter of an entry. A read afterwards returns `data`.
    ///
    /// # Errors
    ///
    /// As [`Switch::read_direct_counter`].
    pub fn write_direct_counter(
        &mut self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
        mut data: CounterData,
    ) -> Result<(), ControlError> {
        self.write(
            |view| view.find_direct_extern(table_id, matches, priority, "counter"),
            |objects, (table, entry)| {
                let counter = &mut objects.tables_mut()[table].entry_mut(entry).counter;
                *counter = std::mem::take(&mut data);
            },
        )
    }

    /// Reads the configuration of one cell of a meter, or of all. A cell without configuration
    /// colours every packet green.
    ///
    /// # Errors
    ///
    /// `NotFound`, `OutOfRange`, `InvalidArgument` (a direct meter).
    pub fn read_meter(
        &self,
        id: u32,
        index: Option<u32>,
    ) -> Result<Vec<(u32, Option<MeterConfig>)>, ControlError> {
        let view = self.view();
        let at = view.meter_index(id)?;
        let meter = &view.objects.meters[at].cells;
        let range = cell_range(&self.program.meters[at].identity, meter.len(), index)?;
        Ok(range.map(|i| (i as u32, meter[i].config())).collect())
    }

    /// Configures one cell of a meter, or all. The token buckets start full.
    ///
    /// # Errors
    ///
    /// As [`Switch::read_meter`].
    pub fn write_meter(
        &mut self,
        id: u32,
        index: Option<u32>,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.meter_index(id)?;
                let identity = &view.program.meters[at].identity;
                Ok((at, cell_range(identity, view.objects.meters[at].cells.len(), index)?))
            },
            |objects, (at, range)| {
                let cells = &mut objects.meters[at].cells[range];
                cells.iter_mut().for_each(|cell| cell.configure(config));
            },
        )
    }

    /// Reads the configuration of an entry's direct meter.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidArgument` (no direct meter).
    pub fn read_direct_meter(
        &self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
    ) -> Result<Option<MeterConfig>, ControlError> {
        let view = self.view();
        let (table, entry) = view.find_direct_extern(table_id, matches, priority, "meter")?;
        Ok(view.objects.tables()[table].entry(entry).meter.config())
    }

    /// Configures an entry's direct meter.
    ///
    /// # Errors
    ///
    /// As [`Switch::read_direct_meter`].
    pub fn write_direct_meter(
        &mut self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        self.write(
            |view| view.find_direct_extern(table_id, matches, priority, "meter"),
            |objects, (table, entry)| {
                objects.tables_mut()[table].entry_mut(entry).meter.configure(config);
            },
        )
    }
}
