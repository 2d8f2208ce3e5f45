//! A storage back end written in Python, called once per batch.

use netkv_rack::store::{Operation, Store};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// The bound `execute` of a back end.
pub struct PythonStore {
    execute: Py<PyAny>,
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
        Ok(Self { execute })
    }

    fn call(
        &self,
        py: Python<'_>,
        batch: &[Operation],
        results: &mut Vec<Option<Vec<u8>>>,
    ) -> PyResult<()> {
        let arguments = PyList::empty(py);
        for operation in batch {
            let (kind, key, value) = match operation {
                Operation::Get(key) => (pyo3::intern!(py, "get"), key, None),
                Operation::Put(key, value) => (pyo3::intern!(py, "put"), key, Some(value)),
                Operation::Delete(key) => (pyo3::intern!(py, "delete"), key, None),
            };
            let value = match value {
                Some(value) => PyBytes::new(py, value).into_any(),
                None => py.None().into_bound(py),
            };
            let call = [kind.clone().into_any(), PyBytes::new(py, key).into_any(), value];
            arguments.append(PyTuple::new(py, call)?)?;
        }
        let answers = self.execute.bind(py).call1((arguments,))?;
        let before = results.len();
        for answer in answers.try_iter()? {
            let answer = answer?;
            results.push(match answer.is_none() {
                true => None,
                false => Some(answer.cast::<PyBytes>()?.as_bytes().to_vec()),
            });
        }
        let found = results.len() - before;
        if found != batch.len() {
            return Err(PyTypeError::new_err(format!(
                "execute(batch) returned {found} results for {} operations",
                batch.len()
            )));
        }
        Ok(())
    }
}

impl Store for PythonStore {
    fn execute(
        &mut self,
        batch: &[Operation],
        results: &mut Vec<Option<Vec<u8>>>,
    ) -> Result<(), String> {
        Python::attach(|py| self.call(py, batch, results))
            .map_err(|error| format!("the storage back end has failed: {error}"))
    }
}
