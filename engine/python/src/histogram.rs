//! Histograms of latencies; see `_engine.pyi`.

use netkv_rack::latencies::Latencies;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A histogram of latencies; see `_engine.pyi`.
#[pyclass(module = "netkv._engine")]
pub struct Histogram(Latencies);

#[pymethods]
impl Histogram {
    #[new]
    #[pyo3(signature = (text = ""))]
    fn new(text: &str) -> PyResult<Self> {
        let decoded =
            if text.is_empty() { Ok(Latencies::default()) } else { Latencies::decode(text) };
        decoded.map(Self).map_err(PyValueError::new_err)
    }

    fn add(&mut self, other: PyRef<'_, Self>) -> PyResult<()> {
        self.0.add(&other.0).map_err(PyValueError::new_err)
    }

    fn encode(&self) -> String {
        self.0.encode()
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    fn mean(&self) -> f64 {
        self.0.mean()
    }

    fn at(&self, percentile: f64) -> u64 {
        self.0.at(percentile)
    }

    fn points(&self) -> Vec<(u64, u64)> {
        self.0.points().collect()
    }
}
