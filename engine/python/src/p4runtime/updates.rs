//! The plain updates of a WriteRequest, and how a switch carries them out.

use std::collections::HashMap;
use std::ops::Range;

use netkv_dataplane::ControlError;
use netkv_ir::Program;
use netkv_rack::clock;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::plain::{Kind, PlainUpdate};
use super::wire::{Field, Fields, Unreadable};
use crate::switch::Switch;

/// The number of `updates` in a WriteRequest.
pub const UPDATES: u64 = 4;

/// See `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct PlainUpdates {
    request: Vec<u8>,
    places: Vec<Range<usize>>,
    /// The fields of the request that are no updates.
    header: Vec<u8>,
}

impl PlainUpdates {
    fn split(request: Vec<u8>) -> Result<Self, Unreadable> {
        let (mut places, mut header) = (Vec::new(), Vec::new());
        let mut fields = Fields::of(&request);
        let mut start = 0;
        while let Some(field) = fields.next() {
            let end = request.len() - fields.rest().len();
            match field? {
                (UPDATES, Field::Bytes(update)) => {
                    PlainUpdate::read(update)?;
                    places.push(end - update.len()..end);
                }
                (UPDATES, _) => return Err(Unreadable),
                _ => header.extend_from_slice(&request[start..end]),
            }
            start = end;
        }
        Ok(Self { places, header, request })
    }
}

#[pymethods]
impl PlainUpdates {
    #[staticmethod]
    fn read(request: Vec<u8>) -> Option<Self> {
        Self::split(request).ok()
    }

    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.header)
    }

    fn __len__(&self) -> usize {
        self.places.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyBytes>> {
        let place = self.places.get(at).cloned();
        let place = place.ok_or_else(|| PyIndexError::new_err("there is no such update"))?;
        Ok(PyBytes::new(py, &self.request[place]))
    }
}

/// Tables whose entries may be written, and the actions of these entries, by P4Info id.
type Writable = HashMap<u32, Vec<u32>>;

/// What became of an update.
enum Outcome {
    Done,
    /// Nothing has changed.
    Refused,
    /// Pipelines before this one have accepted it.
    RefusedLate(usize, ControlError),
}

#[pymethods]
impl Switch {
    fn write_plain(
        &self,
        py: Python<'_>,
        updates: &PlainUpdates,
        first: usize,
        last: usize,
        tables: Writable,
    ) -> (usize, Option<(usize, String)>) {
        let program = self.program(py);
        py.detach(|| {
            let written = self.write_plain_updates(&program, &tables, updates, first..last);
            self.settle();
            written
        })
    }
}

impl Switch {
    /// Writes updates until one is refused. Returns the number of those that were written, and the
    /// pipeline that has refused an update after others had accepted it.
    fn write_plain_updates(
        &self,
        program: &Program,
        tables: &Writable,
        updates: &PlainUpdates,
        range: Range<usize>,
    ) -> (usize, Option<(usize, String)>) {
        let Range { start: first, end: last } = range;
        for (at, place) in updates.places.iter().enumerate().take(last).skip(first) {
            let update = PlainUpdate::read(&updates.request[place.clone()]);
            match update.map(|update| self.write_one(program, tables, &update)) {
                Ok(Outcome::Done) => {}
                Ok(Outcome::Refused) | Err(Unreadable) => return (at - first, None),
                Ok(Outcome::RefusedLate(pipeline, error)) => {
                    return (at - first, Some((pipeline, error.message)));
                }
            }
        }
        (last.min(updates.places.len()).saturating_sub(first), None)
    }

    /// Carries an update out in one pipeline after the other. Packets may be processed in between.
    fn write_one(&self, program: &Program, tables: &Writable, update: &PlainUpdate<'_>) -> Outcome {
        let Some(actions) = tables.get(&update.table_id) else { return Outcome::Refused };
        let deletes = update.kind == Kind::Delete;
        if !deletes && !update.action_id().is_some_and(|action| actions.contains(&action)) {
            return Outcome::Refused;
        }
        let entry = if deletes { None } else { update.entry(program) };
        let matches = if deletes { update.matches(program) } else { None };
        for pipeline in 0..self.pipeline_count() {
            let written = match (&entry, &matches) {
                (Some(entry), _) => self.in_one(pipeline, |engine| {
                    if update.kind == Kind::Modify {
                        return engine.modify_entry(entry.clone());
                    }
                    engine.set_time(clock::now());
                    engine.insert_entry(entry.clone())
                }),
                (None, Some(matches)) => {
                    self.in_one(pipeline, |engine| engine.delete_entry(update.table_id, matches, 0))
                }
                (None, None) => return Outcome::Refused,
            };
            match written {
                Ok(()) => {}
                Err(_) if pipeline == 0 => return Outcome::Refused,
                Err(error) => return Outcome::RefusedLate(pipeline, error),
            }
        }
        Outcome::Done
    }
}
