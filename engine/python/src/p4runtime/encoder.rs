//! Table writes of a control plane as serialized updates.

use std::collections::HashMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use super::plain::Kind;
use super::updates::UPDATES;
use super::wire::{put_bytes, put_number};

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
pub struct EntryEncoder {
    tables: Objects,
    actions: Objects,
    kinds: [(Py<PyAny>, Kind); 3],
}

fn objects(given: HashMap<String, (u32, Named)>) -> Objects {
    given.into_iter().map(|(name, (id, fields))| (name, Object { id, fields })).collect()
}

#[pymethods]
impl EntryEncoder {
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
        // An exception means that a value is no number that fits: the write is not plain.
        self.request(write).ok().flatten().map(|request| PyBytes::new(write.py(), &request))
    }
}

impl EntryEncoder {
    fn request(&self, write: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
        let py = write.py();
        let class = write.get_type();
        let Some((_, kind)) = self.kinds.iter().find(|(known, _)| class.is(known)) else {
            return Ok(None);
        };
        let Some(table) = named(&self.tables, &write.getattr(intern!(py, "table"))?)? else {
            return Ok(None);
        };
        if write.getattr(intern!(py, "priority"))?.extract::<u32>()? != 0 {
            return Ok(None);
        }
        let mut entry = Vec::with_capacity(96);
        put_number(&mut entry, 1, table.id.into());
        let matches = write.getattr(intern!(py, "match"))?;
        for (name, value) in matches.cast::<PyDict>()? {
            let Some((id, value)) = field(table, &name, &value)? else { return Ok(None) };
            let mut exact = Vec::with_capacity(20);
            put_bytes(&mut exact, 1, canonical(&value.to_be_bytes()));
            let mut message = Vec::with_capacity(24);
            put_number(&mut message, 1, id.into());
            put_bytes(&mut message, 2, &exact);
            put_bytes(&mut entry, 2, &message);
        }
        if *kind != Kind::Delete {
            let Some(call) = self.call(write)? else { return Ok(None) };
            let mut action = Vec::with_capacity(call.len() + 3);
            put_bytes(&mut action, 1, &call);
            put_bytes(&mut entry, 3, &action);
        }
        let mut entity = Vec::with_capacity(entry.len() + 3);
        put_bytes(&mut entity, 2, &entry);
        let mut update = Vec::with_capacity(entity.len() + 5);
        put_number(&mut update, 1, *kind as u64);
        put_bytes(&mut update, 2, &entity);
        let mut request = Vec::with_capacity(update.len() + 3);
        put_bytes(&mut request, UPDATES, &update);
        Ok(Some(request))
    }

    /// The serialized `Action` of a write.
    fn call(&self, write: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
        let py = write.py();
        let Some(action) = named(&self.actions, &write.getattr(intern!(py, "action"))?)? else {
            return Ok(None);
        };
        let mut call = Vec::with_capacity(64);
        put_number(&mut call, 1, action.id.into());
        let params = write.getattr(intern!(py, "params"))?;
        for (name, value) in params.cast::<PyDict>()? {
            let Some((id, value)) = field(action, &name, &value)? else { return Ok(None) };
            let mut param = Vec::with_capacity(24);
            put_number(&mut param, 2, id.into());
            put_bytes(&mut param, 3, canonical(&value.to_be_bytes()));
            put_bytes(&mut call, 4, &param);
        }
        Ok(Some(call))
    }
}

fn named<'a>(objects: &'a Objects, name: &Bound<'_, PyAny>) -> PyResult<Option<&'a Object>> {
    Ok(objects.get(name.cast::<PyString>()?.to_str()?))
}

/// Id and value of a field of `owner`; `None` if it has no such field, or the value does not fit.
fn field(
    owner: &Object,
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<(u32, u128)>> {
    let Some((id, width)) = owner.fields.get(name.cast::<PyString>()?.to_str()?) else {
        return Ok(None);
    };
    let value: u128 = value.extract()?;
    Ok((128 - value.leading_zeros() <= *width).then_some((*id, value)))
}

/// The value without leading zero bytes, but at least one byte.
fn canonical(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros.min(bytes.len() - 1)..]
}
