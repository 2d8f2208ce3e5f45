//! Registers, counters and meters.

use netkv_ir::{Identity, Match, Value};

use crate::counters::CounterData;
use crate::error::{ControlCode, ControlError};
use crate::meters::MeterConfig;
use crate::switch::Switch;

/// Index of an object by its P4Info id.
fn find<'a>(
    what: &str,
    id: u32,
    mut identities: impl Iterator<Item = &'a Identity>,
) -> Result<usize, ControlError> {
    identities.position(|identity| identity.id == id).ok_or_else(|| {
        ControlError::not_found(format!("The program has no {what} with id {id:#010x}."))
    })
}

/// The cells that a request means: one, or all.
fn cells(
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

impl Switch {
    fn register_index(&self, id: u32) -> Result<usize, ControlError> {
        find("register", id, self.program.registers.iter().map(|r| &r.identity))
    }

    /// One cell of a register, or all.
    ///
    /// # Errors
    ///
    /// `NotFound`, `OutOfRange`.
    pub fn read_register(
        &self,
        id: u32,
        index: Option<u32>,
    ) -> Result<Vec<(u32, Value)>, ControlError> {
        let at = self.register_index(id)?;
        let registers = &self.objects.registers;
        let range = cells(
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
        let at = self.register_index(id)?;
        let identity = &self.program.registers[at].identity;
        let registers = &mut self.objects.registers;
        let layout = registers.layouts()[at];
        let range = cells(identity, layout.size as usize, index)?;
        let canonical = Value::from_words(value.width, value.words.clone());
        if value.width != layout.width || canonical != *value {
            return Err(ControlError::invalid(format!(
                "Register '{}' has cells of {} bits, but the value has {}.",
                identity.name, layout.width, value.width
            )));
        }
        for index in range {
            registers.write(at, index as u64, &value.words);
        }
        Ok(())
    }

    fn counter_index(&self, id: u32) -> Result<usize, ControlError> {
        let at = find("counter", id, self.program.counters.iter().map(|c| &c.identity))?;
        if self.program.counters[at].direct.is_some() {
            let name = &self.program.counters[at].identity.name;
            return Err(ControlError::invalid(format!(
                "Counter '{name}' belongs to the entries of a table: name the entry."
            )));
        }
        Ok(at)
    }

    /// One cell of a counter, or all.
    ///
    /// # Errors
    ///
    /// `NotFound`, `OutOfRange`, `InvalidArgument` (a direct counter).
    pub fn read_counter(
        &self,
        id: u32,
        index: Option<u32>,
    ) -> Result<Vec<(u32, CounterData)>, ControlError> {
        let at = self.counter_index(id)?;
        let data = &self.objects.counters[at];
        let range = cells(&self.program.counters[at].identity, data.len(), index)?;
        Ok(range.map(|i| (i as u32, data[i])).collect())
    }

    /// Sets one cell of a counter, or all.
    ///
    /// # Errors
    ///
    /// As [`Switch::read_counter`].
    pub fn write_counter(
        &mut self,
        id: u32,
        index: Option<u32>,
        data: CounterData,
    ) -> Result<(), ControlError> {
        let at = self.counter_index(id)?;
        let cells_of = &mut self.objects.counters[at];
        let range = cells(&self.program.counters[at].identity, cells_of.len(), index)?;
        cells_of[range].fill(data);
        Ok(())
    }

    /// An entry of a table that has the direct object `what`.
    fn direct(
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
        Ok((table, self.existing(table, matches, priority)?))
    }

    /// The direct counter of an entry.
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
        let (table, entry) = self.direct(table_id, matches, priority, "counter")?;
        Ok(self.objects.tables()[table].entry(entry).counter)
    }

    /// Sets the direct counter of an entry.
    ///
    /// # Errors
    ///
    /// As [`Switch::read_direct_counter`].
    pub fn write_direct_counter(
        &mut self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
        data: CounterData,
    ) -> Result<(), ControlError> {
        let (table, entry) = self.direct(table_id, matches, priority, "counter")?;
        self.objects.tables_mut()[table].entry_mut(entry).counter = data;
        Ok(())
    }

    fn meter_index(&self, id: u32) -> Result<usize, ControlError> {
        let at = find("meter", id, self.program.meters.iter().map(|m| &m.identity))?;
        if self.program.meters[at].direct.is_some() {
            let name = &self.program.meters[at].identity.name;
            return Err(ControlError::invalid(format!(
                "Meter '{name}' belongs to the entries of a table: name the entry."
            )));
        }
        Ok(at)
    }

    /// The configuration of one cell of a meter, or of all; none is always green.
    ///
    /// # Errors
    ///
    /// `NotFound`, `OutOfRange`, `InvalidArgument` (a direct meter).
    pub fn read_meter(
        &self,
        id: u32,
        index: Option<u32>,
    ) -> Result<Vec<(u32, Option<MeterConfig>)>, ControlError> {
        let at = self.meter_index(id)?;
        let meter = &self.objects.meters[at].cells;
        let range = cells(&self.program.meters[at].identity, meter.len(), index)?;
        Ok(range.map(|i| (i as u32, meter[i].config())).collect())
    }

    /// Configures one cell of a meter, or all; the buckets start full.
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
        let at = self.meter_index(id)?;
        let meter = &mut self.objects.meters[at].cells;
        let range = cells(&self.program.meters[at].identity, meter.len(), index)?;
        meter[range].iter_mut().for_each(|cell| cell.configure(config));
        Ok(())
    }

    /// The configuration of an entry's direct meter.
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
        let (table, entry) = self.direct(table_id, matches, priority, "meter")?;
        Ok(self.objects.tables()[table].entry(entry).meter.config())
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
        let (table, entry) = self.direct(table_id, matches, priority, "meter")?;
        self.objects.tables_mut()[table].entry_mut(entry).meter.configure(config);
        Ok(())
    }
}
