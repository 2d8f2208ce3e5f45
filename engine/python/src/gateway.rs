//! The gateway; see `_engine.pyi`.

use std::os::fd::RawFd;
use std::sync::Arc;

use netkv_gateway::{Gateway as Node, Settings};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::errors::io_error;
use crate::session::Session;

/// A server of the Redis protocol; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct Gateway(Node);

#[pymethods]
impl Gateway {
    #[new]
    fn new(session: &Session, settings: &str) -> PyResult<Self> {
        let settings: Settings = serde_json::from_str(settings).map_err(|error| {
            PyValueError::new_err(format!("The settings of the gateway are wrong: {error}."))
        })?;
        let rack = Arc::clone(&session.0);
        Node::new(settings, rack).map(Self).map_err(|error| match error.raw_os_error() {
            Some(code) => PyOSError::new_err((code, error.to_string())),
            None => io_error(&error),
        })
    }

    #[getter]
    fn host(&self) -> String {
        self.0.address().ip().to_string()
    }

    #[getter]
    fn port(&self) -> u16 {
        self.0.address().port()
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(|error| io_error(&error))
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn fileno(&self) -> RawFd {
        self.0.ended_descriptor()
    }

    fn foreign(&self) -> u64 {
        self.0.foreign()
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}
