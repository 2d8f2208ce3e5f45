//! The benchmark of the data plane.

use std::path::PathBuf;

use netkv_bench::{BenchError, Case, Executor, Measurement};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

fn refused(error: BenchError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn as_dict<'py>(py: Python<'py>, case: &Case, found: &Measurement) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("program", &case.program)?;
    dict.set_item("path", &case.path)?;
    dict.set_item("executor", found.executor.name())?;
    dict.set_item("entries", case.entries)?;
    dict.set_item("value_size", case.value_size)?;
    dict.set_item("key_width", case.key_width)?;
    dict.set_item("pps", found.pps)?;
    dict.set_item("ns_p50", found.ns_p50)?;
    dict.set_item("ns_p99", found.ns_p99)?;
    Ok(dict)
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn bench_paths(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for subject in netkv_bench::subjects() {
        dict.set_item(subject.name(), subject.paths())?;
    }
    Ok(dict)
}

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (
    program, path, *, file = None, include_dirs = Vec::new(), entries = 10_000, value_size = 128, key_width = 128,
    seconds = 1.0
))]
// The arguments are those of a Python function with keywords.
#[allow(clippy::too_many_arguments)]
pub fn bench_measure<'py>(
    py: Python<'py>,
    program: &str,
    path: &str,
    file: Option<PathBuf>,
    include_dirs: Vec<PathBuf>,
    entries: u32,
    value_size: u32,
    key_width: u32,
    seconds: f64,
) -> PyResult<Bound<'py, PyList>> {
    let usual = Case::new(program, path);
    let case = Case { file, include_dirs, entries, value_size, key_width, ..usual };
    let found = py.detach(|| netkv_bench::measure(&case, &Executor::ALL, seconds));
    let found = found.map_err(refused)?;
    let dicts = found.iter().map(|found| as_dict(py, &case, found));
    PyList::new(py, dicts.collect::<PyResult<Vec<_>>>()?)
}

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (program, *, file = None, include_dirs = Vec::new()))]
pub fn bench_load<'py>(
    py: Python<'py>,
    program: &str,
    file: Option<PathBuf>,
    include_dirs: Vec<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let case = Case { file, include_dirs, ..Case::new(program, "") };
    let times = py.detach(|| netkv_bench::load_times(&case)).map_err(refused)?;
    let dict = PyDict::new(py);
    dict.set_item("program", program)?;
    dict.set_item("front_end_s", times.front_end)?;
    dict.set_item("interpreter_s", times.interpreter)?;
    dict.set_item("compiled_s", times.compiled)?;
    Ok(dict)
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn bench_source(program: &str) -> PyResult<Option<String>> {
    let subject = netkv_bench::subject(program).map_err(refused)?;
    subject.source(&Case::new(program, "")).map_err(refused)
}
