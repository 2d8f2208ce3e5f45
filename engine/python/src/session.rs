//! Sessions of external clients; see `_engine.pyi`.

use std::os::fd::RawFd;
use std::sync::Arc;

use netkv_rack::session::{OwnedKey, OwnedOp, Session as Node, SessionConfig};
use netkv_rack::sys::Watched;
use netkv_roles::Outcome;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::errors::io_error;
use crate::nodes::counts;

/// The session of an external client; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct Session(pub(crate) Arc<Node>);

impl Session {
    fn submit(&self, token: u64, op: OwnedOp) -> PyResult<()> {
        self.0.submit(token, op).map_err(PyRuntimeError::new_err)
    }
}

#[pymethods]
impl Session {
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        let config: SessionConfig = serde_json::from_str(config).map_err(|error| {
            PyValueError::new_err(format!("The configuration of the session is wrong: {error}."))
        })?;
        Node::new(&config).map(|node| Self(Arc::new(node))).map_err(|error| io_error(&error))
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(|error| io_error(&error))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn get(&self, token: u64, keys: Vec<Vec<u8>>) -> PyResult<()> {
        self.submit(token, OwnedOp::Get(keys.into_iter().map(OwnedKey::from_vec).collect()))
    }

    fn put(&self, token: u64, key: &[u8], value: &[u8]) -> PyResult<()> {
        self.submit(token, OwnedOp::Put(OwnedKey::from_slice(key), value.to_vec()))
    }

    fn delete(&self, token: u64, key: &[u8]) -> PyResult<()> {
        self.submit(token, OwnedOp::Delete(OwnedKey::from_slice(key)))
    }

    fn fileno(&self) -> RawFd {
        self.0.completion_event().descriptor()
    }

    #[allow(clippy::type_complexity)] // a tuple of Python, as `_engine.pyi` has it
    fn take<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(u64, &'static str, Option<Bound<'py, PyAny>>)>> {
        let mut completed = Vec::new();
        self.0.take(&mut completed);
        completed
            .into_iter()
            .map(|it| outcome(py, it.outcome).map(|(kind, more)| (it.token, kind, more)))
            .collect()
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts(py, self.0.statistics())
    }
}

pub(crate) fn outcome(
    py: Python<'_>,
    outcome: Outcome,
) -> PyResult<(&'static str, Option<Bound<'_, PyAny>>)> {
    Ok(match outcome {
        Outcome::Values(values) => {
            let values = values.iter().map(|it| it.as_ref().map(|value| PyBytes::new(py, value)));
            ("values", Some(PyList::new(py, values.collect::<Vec<_>>())?.into_any()))
        }
        Outcome::Done => ("done", None),
        Outcome::NotFound => ("not found", None),
        Outcome::TimedOut { missing } => {
            ("timed out", Some(PyString::new(py, &missing).into_any()))
        }
        Outcome::Unknown => ("unknown", None),
        Outcome::Refused(why) => ("refused", Some(PyString::new(py, &why).into_any())),
    })
}
