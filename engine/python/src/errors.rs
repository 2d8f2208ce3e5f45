//! Exceptions of the module.

use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value;

use crate::json;

pyo3::create_exception!(
    netkv._engine,
    CompileError,
    PyException,
    "The P4 program has errors; str() is the report."
);
pyo3::create_exception!(
    netkv._engine,
    ControlError,
    PyException,
    "A control plane call was refused; str() is a sentence, code the name of the gRPC status."
);
pyo3::create_exception!(
    netkv._engine,
    MalformedFrameError,
    PyValueError,
    "A frame is malformed, or not of netkv; str() is the reason."
);
pyo3::create_exception!(
    netkv._engine,
    SimulationError,
    PyValueError,
    "A simulated rack cannot continue; str() is the reason."
);

/// A [`CompileError`] with its diagnostics.
pub fn compile_error(py: Python<'_>, report: String, diagnostics: &Value) -> PyErr {
    let error = CompileError::new_err(report);
    let set = json::to_python(py, diagnostics)
        .and_then(|list| error.value(py).setattr("diagnostics", list));
    set.err().unwrap_or(error)
}

/// A [`ControlError`] with its gRPC status.
pub fn control_error(py: Python<'_>, code: &str, message: String) -> PyErr {
    let error = ControlError::new_err(message);
    error.value(py).setattr("code", code).err().unwrap_or(error)
}

/// An error of sockets or files (OSError), or of the configuration (ValueError).
pub fn io_error(error: &std::io::Error) -> PyErr {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}
