//! Estimate of the switch resources that a program needs.

use netkv_budget::{Target, estimate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::bundle::program_of;
use crate::json;

/// See `_engine.pyi`.
#[pyfunction]
pub fn p4_budget<'py>(py: Python<'py>, bundle: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let program = program_of(bundle)?;
    let report = py
        .detach(|| estimate(&program, &Target::default()))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    json::to_python(py, &serde_json::to_value(report).unwrap_or(Value::Null))
}
