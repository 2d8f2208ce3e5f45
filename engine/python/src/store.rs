//! A storage back end written in Python, called once per batch.

use netkv_rack::applied::AppliedRecords;
use netkv_rack::sequenced::PlainCall;
use netkv_rack::store::{Batch, DataSet, Format, Store};
use netkv_roles::{Applied, StoreOp, StoreResult};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// The bound `execute` of a back end.
pub struct PythonStore {
    execute: Py<PyAny>,
    applied: AppliedRecords,
    /// What it keeps of a record; known when it is loaded.
    format: Format,
}

impl PythonStore {
    /// Takes the back end; a TypeError if it has no `execute`.
    pub fn new(py: Python<'_>, backend: Py<PyAny>) -> PyResult<Self> {
        let execute = backend.getattr(py, "execute").map_err(|_| {
            PyTypeError::new_err(format!(
                "{} is no storage back end: it has no method execute(batch).",
                backend.bind(py).get_type()
            ))
        })?;
        Ok(Self { execute, applied: AppliedRecords::default(), format: Format::Plain })
    }

    fn call(
        &mut self,
        py: Python<'_>,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> PyResult<()> {
        let arguments = PyList::empty(py);
        for call in batch.calls() {
            let (kind, value) = match self.format.plain(&call) {
                PlainCall::Get => (pyo3::intern!(py, "get"), py.None().into_bound(py)),
                PlainCall::Put(value, None) => {
                    (pyo3::intern!(py, "put"), PyBytes::new(py, value).into_any())
                }
                PlainCall::Put(value, Some(trailer)) => {
                    (pyo3::intern!(py, "put"), joined(py, value, &trailer)?.into_any())
                }
                PlainCall::Delete => (pyo3::intern!(py, "delete"), py.None().into_bound(py)),
            };
            let name = if call.name.is_empty() { &call.key[..] } else { call.name };
            let call = [kind.clone().into_any(), PyBytes::new(py, name).into_any(), value];
            arguments.append(PyTuple::new(py, call)?)?;
        }
        // Behind the writes: if a back end breaks off in the middle, a write may come again, but
        // none is taken for done that is not.
        let mut records = Vec::new();
        self.applied.note(batch, |key, value| records.push((*key, value.to_vec())));
        for (key, value) in &records {
            let put = pyo3::intern!(py, "put").clone().into_any();
            let (key, value) = (PyBytes::new(py, key), PyBytes::new(py, value));
            arguments.append(PyTuple::new(py, [put, key.into_any(), value.into_any()])?)?;
        }
        let operations = batch.len() + records.len();
        let results = self.execute.bind(py).call1((arguments,))?;
        if results.len()? != operations {
            return Err(PyTypeError::new_err(format!(
                "execute(batch) returned {} results for {operations} operations",
                results.len()?,
            )));
        }
        for (index, (result, call)) in results.try_iter()?.zip(batch.calls()).enumerate() {
            let result = result?;
            match call.op {
                StoreOp::Get => {
                    let record =
                        if result.is_none() { None } else { Some(result.cast::<PyBytes>()?) };
                    let found = self.format.found(&call.key, record.map(|it| it.as_bytes()));
                    done(index, found.map_err(PyValueError::new_err)?);
                }
                StoreOp::Put | StoreOp::Delete => done(index, StoreResult::Done),
            }
        }
        Ok(())
    }
}

/// Both, one behind the other.
fn joined<'py>(py: Python<'py>, value: &[u8], trailer: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, value.len() + trailer.len(), |bytes| {
        let (head, tail) = bytes.split_at_mut(value.len());
        head.copy_from_slice(value);
        tail.copy_from_slice(trailer);
        Ok(())
    })
}

impl Store for PythonStore {
    fn execute(
        &mut self,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> Result<(), String> {
        if batch.is_empty() {
            return Ok(());
        }
        Python::attach(|py| self.call(py, batch, done))
            .map_err(|error| format!("the storage back end has failed: {error}"))
    }

    fn load(&mut self, data: &DataSet) -> Result<(), String> {
        self.format = data.format;
        data.load_into(self)?;
        self.applied = AppliedRecords::load(self)?;
        Ok(())
    }

    fn applied(&self) -> &Applied {
        self.applied.applied()
    }
}
