//! `Switch`: tables and parser value sets.

use netkv_dataplane::{EntryState, TableEntry};
use netkv_ir::{MatchKind, Program, TableKey};
use netkv_rack::clock;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::objects::rates_of;
use crate::switch::Switch;
use crate::values::{
    Params, action_of, action_out, keys_of_table, matches_of, matches_out, params_of, params_out,
};

/// The entry that Python passes to insert and modify, with the widths of the program.
fn entry_of(
    switch: &Switch,
    py: Python<'_>,
    table_id: u32,
    matches: &[Bound<'_, PyAny>],
    action: &Bound<'_, PyAny>,
    rest: (u32, Vec<u8>, u64, u64),
) -> PyResult<TableEntry> {
    let program = switch.program(py);
    let (priority, metadata, controller_metadata, idle_timeout_ns) = rest;
    Ok(TableEntry {
        table_id,
        matches: matches_of(py, &keys_of_table(&program, table_id), matches)?,
        action: action_of(py, &program, action)?,
        priority,
        metadata,
        controller_metadata,
        idle_timeout_ns,
    })
}

/// An entry with its state as Python wants it.
fn state_out<'py>(
    py: Python<'py>,
    program: &Program,
    state: &EntryState,
) -> PyResult<Bound<'py, PyDict>> {
    let entry = &state.entry;
    let table = program.tables.iter().find(|table| table.identity.id == entry.table_id);
    let dict = PyDict::new(py);
    dict.set_item("table_id", entry.table_id)?;
    dict.set_item("matches", matches_out(py, &entry.matches)?)?;
    dict.set_item("action", action_out(py, &entry.action)?)?;
    dict.set_item("priority", entry.priority)?;
    dict.set_item("metadata", PyBytes::new(py, &entry.metadata))?;
    dict.set_item("controller_metadata", entry.controller_metadata)?;
    dict.set_item("idle_timeout_ns", entry.idle_timeout_ns)?;
    dict.set_item("is_const", table.is_some_and(|table| table.const_entries))?;
    dict.set_item("counter", state.counter.map(|data| (data.packets, data.bytes)))?;
    dict.set_item("meter", state.meter.map(rates_of))?;
    dict.set_item("elapsed_ns", clock::now().saturating_sub(state.last_hit_ns))?;
    Ok(dict)
}

#[pymethods]
impl Switch {
    #[pyo3(signature = (
        table_id, matches, action, priority = 0, metadata = Vec::new(), controller_metadata = 0,
        idle_timeout_ns = 0, *, pipeline = None
    ))]
    #[allow(clippy::too_many_arguments)] // the interface is Python's, with keywords
    fn insert_entry(
        &self,
        py: Python<'_>,
        table_id: u32,
        matches: Vec<Bound<'_, PyAny>>,
        action: &Bound<'_, PyAny>,
        priority: u32,
        metadata: Vec<u8>,
        controller_metadata: u64,
        idle_timeout_ns: u64,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let rest = (priority, metadata, controller_metadata, idle_timeout_ns);
        let entry = entry_of(self, py, table_id, &matches, action, rest)?;
        self.control_in(py, pipeline, |engine| {
            engine.set_time(clock::now());
            engine.insert_entry(entry)
        })
    }

    #[pyo3(signature = (
        table_id, matches, action, priority = 0, metadata = Vec::new(), controller_metadata = 0,
        idle_timeout_ns = 0, *, pipeline = None
    ))]
    #[allow(clippy::too_many_arguments)] // the interface is Python's, with keywords
    fn modify_entry(
        &self,
        py: Python<'_>,
        table_id: u32,
        matches: Vec<Bound<'_, PyAny>>,
        action: &Bound<'_, PyAny>,
        priority: u32,
        metadata: Vec<u8>,
        controller_metadata: u64,
        idle_timeout_ns: u64,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let rest = (priority, metadata, controller_metadata, idle_timeout_ns);
        let entry = entry_of(self, py, table_id, &matches, action, rest)?;
        self.control_in(py, pipeline, |engine| engine.modify_entry(entry))
    }

    #[pyo3(signature = (table_id, matches, priority = 0, *, pipeline = None))]
    fn delete_entry(
        &self,
        py: Python<'_>,
        table_id: u32,
        matches: Vec<Bound<'_, PyAny>>,
        priority: u32,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let keys = keys_of_table(&self.program(py), table_id);
        let matches = matches_of(py, &keys, &matches)?;
        self.control_in(py, pipeline, |engine| engine.delete_entry(table_id, &matches, priority))
    }

    #[pyo3(signature = (table_id = 0, *, pipeline = None))]
    fn read_entries<'py>(
        &self,
        py: Python<'py>,
        table_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let program = self.program(py);
        let table = (table_id != 0).then_some(table_id);
        let states = self.read_in(py, pipeline, |engine| Ok(engine.read_entry_states(table)))?;
        let list = PyList::empty(py);
        for state in &states {
            list.append(state_out(py, &program, state)?)?;
        }
        Ok(list)
    }

    #[pyo3(signature = (table_id, matches, priority = 0, *, pipeline = None))]
    fn read_entry<'py>(
        &self,
        py: Python<'py>,
        table_id: u32,
        matches: Vec<Bound<'py, PyAny>>,
        priority: u32,
        pipeline: Option<usize>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let program = self.program(py);
        let matches = matches_of(py, &keys_of_table(&program, table_id), &matches)?;
        let state = self.read_in(py, pipeline, |engine| {
            engine.read_entry_state(table_id, &matches, priority)
        })?;
        state.map(|state| state_out(py, &program, &state)).transpose()
    }

    fn take_idle_entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let program = self.program(py);
        let late = self.with(py, |engine| engine.idle_entries(clock::now()));
        let list = PyList::empty(py);
        for entry in late {
            let last_hit_ns = clock::now();
            let state = EntryState { entry, counter: None, meter: None, last_hit_ns };
            list.append(state_out(py, &program, &state)?)?;
        }
        Ok(list)
    }

    #[pyo3(signature = (table_id, action_id, params, *, pipeline = None))]
    fn set_default(
        &self,
        py: Python<'_>,
        table_id: u32,
        action_id: u32,
        params: Params,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let params = params_of(py, &self.program(py), action_id, &params)?;
        self.control_in(py, pipeline, |engine| engine.set_default(table_id, action_id, &params))
    }

    #[pyo3(signature = (table_id, *, pipeline = None))]
    fn reset_default(
        &self,
        py: Python<'_>,
        table_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        self.control_in(py, pipeline, |engine| engine.reset_default(table_id))
    }

    #[pyo3(signature = (table_id, *, pipeline = None))]
    fn get_default<'py>(
        &self,
        py: Python<'py>,
        table_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<(u32, Bound<'py, PyList>)> {
        let (action_id, params) =
            self.read_in(py, pipeline, |engine| engine.get_default(table_id))?;
        Ok((action_id, params_out(py, &params)?))
    }

    #[pyo3(signature = (value_set_id, members, *, pipeline = None))]
    fn set_value_set(
        &self,
        py: Python<'_>,
        value_set_id: u32,
        members: Vec<Vec<Bound<'_, PyAny>>>,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let program = self.program(py);
        let set = program.value_sets.iter().find(|set| set.identity.id == value_set_id);
        let keys: Vec<TableKey> = set.map_or_else(Vec::new, |set| {
            set.keys.iter().filter(|key| key.kind != MatchKind::Selector).cloned().collect()
        });
        let members = members
            .iter()
            .map(|member| matches_of(py, &keys, member))
            .collect::<PyResult<Vec<_>>>()?;
        self.control_in(py, pipeline, |engine| engine.set_value_set(value_set_id, &members))
    }

    #[pyo3(signature = (value_set_id, *, pipeline = None))]
    fn read_value_set<'py>(
        &self,
        py: Python<'py>,
        value_set_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let members = self.read_in(py, pipeline, |engine| engine.read_value_set(value_set_id))?;
        let list = PyList::empty(py);
        for member in &members {
            list.append(matches_out(py, member)?)?;
        }
        Ok(list)
    }
}
