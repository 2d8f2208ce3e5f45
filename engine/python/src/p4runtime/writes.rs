//! Plain table writes of a control plane: as serialized updates, and on a simulated switch.

use std::collections::HashMap;

use netkv_dataplane::{EntryAction, TableEntry};
use netkv_ir::{Match, Value};
use netkv_rack::clock;
use netkv_rack::sim::TableUpdate;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::plain::Kind;
use super::updates::UPDATES;
use super::wire::{put_bytes, put_number};
use crate::switch::Switch;

/// Id and width of a match field or of a parameter, by name.
type Named = HashMap<String, (u32, u32)>;

/// A table or an action.
struct Object {
    id: u32,
    fields: Named,
}

/// The objects of one kind, by each of their names.
type Objects = HashMap<String, Object>;

/// See `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct PlainWrites {
    tables: Objects,
    actions: Objects,
    kinds: [(Py<PyAny>, Kind); 3],
}

fn objects(given: HashMap<String, (u32, Named)>) -> Objects {
    given.into_iter().map(|(name, (id, fields))| (name, Object { id, fields })).collect()
}

/// A table write of a control plane, by the ids of the program.
struct Plain {
    kind: Kind,
    table: u32,
    matches: Values,
    /// Id and parameters.
    action: Option<(u32, Values)>,
}

/// Id, width and value of match fields or of parameters.
type Values = Vec<(u32, u32, u128)>;

#[pymethods]
impl PlainWrites {
    #[new]
    fn new(
        tables: HashMap<String, (u32, Named)>,
        actions: HashMap<String, (u32, Named)>,
        kinds: (Py<PyAny>, Py<PyAny>, Py<PyAny>),
    ) -> Self {
        let (insert, modify, delete) = kinds;
        let kinds = [(insert, Kind::Insert), (modify, Kind::Modify), (delete, Kind::Delete)];
        Self { tables: objects(tables), actions: objects(actions), kinds }
    }

    fn encode<'py>(&self, write: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(write.py(), &self.read(write)?.request()))
    }

    fn carry_out(
        &self,
        py: Python<'_>,
        switch: &Switch,
        write: &Bound<'_, PyAny>,
        pipeline: usize,
    ) -> Option<String> {
        let update = self.update(write)?;
        let refused = switch.with(py, |engine| update.carry_out(engine, pipeline, clock::now()));
        Some(refused.err().map(|error| error.message).unwrap_or_default())
    }
}

impl PlainWrites {
    /// The update of a plain write; `None` if it is not plain.
    pub fn update(&self, write: &Bound<'_, PyAny>) -> Option<TableUpdate> {
        let Plain { kind, table: table_id, matches, action } = self.read(write)?;
        let matches =
            matches.iter().map(|(id, width, value)| (*id, Match::Exact(number(*width, *value))));
        let matches = matches.collect();
        let Some((action_id, params)) = action else {
            return Some(TableUpdate::Delete { table_id, matches });
        };
        if !(1..).zip(&params).all(|(at, (id, ..))| *id == at) {
            return None;
        }
        let params = params.iter().map(|(_, width, value)| number(*width, *value)).collect();
        let entry = TableEntry {
            table_id,
            matches,
            action: EntryAction::Direct { action_id, params },
            priority: 0,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        };
        Some(if kind == Kind::Modify {
            TableUpdate::Modify(entry)
        } else {
            TableUpdate::Insert(entry)
        })
    }

    /// Reads a write; `None` if it is not plain. An exception means that a value is no number that
    /// fits.
    fn read(&self, write: &Bound<'_, PyAny>) -> Option<Plain> {
        let class = write.get_type();
        let (_, kind) = self.kinds.iter().find(|(known, _)| class.is(known))?;
        self.read_as(*kind, write).ok().flatten()
    }

    fn read_as(&self, kind: Kind, write: &Bound<'_, PyAny>) -> PyResult<Option<Plain>> {
        let py = write.py();
        let Some(table) = named(&self.tables, &write.getattr(intern!(py, "table"))?)? else {
            return Ok(None);
        };
        if write.getattr(intern!(py, "priority"))?.extract::<u32>()? != 0 {
            return Ok(None);
        }
        let Some(matches) = values(table, &write.getattr(intern!(py, "match"))?)? else {
            return Ok(None);
        };
        let action = if kind == Kind::Delete {
            None
        } else {
            let Some(action) = named(&self.actions, &write.getattr(intern!(py, "action"))?)? else {
                return Ok(None);
            };
            let Some(params) = values(action, &write.getattr(intern!(py, "params"))?)? else {
                return Ok(None);
            };
            Some((action.id, params))
        };
        Ok(Some(Plain { kind, table: table.id, matches, action }))
    }
}

impl Plain {
    /// The serialized WriteRequest that has only this update.
    fn request(&self) -> Vec<u8> {
        let mut entry = Vec::with_capacity(96);
        put_number(&mut entry, 1, self.table.into());
        for (id, _, value) in &self.matches {
            put_message(&mut entry, 2, |message| {
                put_number(message, 1, (*id).into());
                put_message(message, 2, |exact| {
                    put_bytes(exact, 1, canonical(&value.to_be_bytes()))
                });
            });
        }
        if let Some((action, params)) = &self.action {
            put_message(&mut entry, 3, |message| {
                put_message(message, 1, |call| {
                    put_number(call, 1, (*action).into());
                    for (id, _, value) in params {
                        put_message(call, 4, |param| {
                            put_number(param, 2, (*id).into());
                            put_bytes(param, 3, canonical(&value.to_be_bytes()));
                        });
                    }
                });
            });
        }
        let mut request = Vec::with_capacity(entry.len() + 16);
        put_message(&mut request, UPDATES, |update| {
            put_number(update, 1, self.kind as u64);
            put_message(update, 2, |entity| put_bytes(entity, 2, &entry));
        });
        request
    }
}

fn put_message(message: &mut Vec<u8>, field: u64, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut part = Vec::with_capacity(96);
    fill(&mut part);
    put_bytes(message, field, &part);
}

fn number(width: u32, value: u128) -> Value {
    Value::from_bytes(width, canonical(&value.to_be_bytes()))
}

fn named<'a>(objects: &'a Objects, name: &Bound<'_, PyAny>) -> PyResult<Option<&'a Object>> {
    Ok(objects.get(name.cast::<PyString>()?.to_str()?))
}

/// The fields of `owner` in a dict; `None` if it has no such field, or a value does not fit.
fn values(owner: &Object, given: &Bound<'_, PyAny>) -> PyResult<Option<Values>> {
    let given = given.cast::<PyDict>()?;
    let mut found = Vec::with_capacity(given.len());
    for (name, value) in given {
        let Some((id, width)) = owner.fields.get(name.cast::<PyString>()?.to_str()?) else {
            return Ok(None);
        };
        let value: u128 = value.extract()?;
        if 128 - value.leading_zeros() > *width {
            return Ok(None);
        }
        found.push((*id, *width, value));
    }
    Ok(Some(found))
}

/// The value without leading zero bytes, but at least one byte.
fn canonical(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros.min(bytes.len() - 1)..]
}
