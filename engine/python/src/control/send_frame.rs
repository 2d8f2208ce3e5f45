//! The action `SendFrame`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

static SEND_FRAME: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The class `SendFrame` of netkv/control/base.py.
pub fn send_frame(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    SEND_FRAME.import(py, "netkv.control.base", "SendFrame")
}
