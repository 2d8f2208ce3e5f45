//! Designs for FPGAs, in virtual time and live; see `_engine.pyi`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use netkv_fpga::{BusSettings, Design, Error, PortCounters, PortSettings};
use netkv_rack::card::{End, LiveConfig, LiveDesign};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::io_error;
use crate::nodes::{counts, plug};

fn design_error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Argument(_) | Error::Empty(_) => PyValueError::new_err(text),
        Error::Load(_) | Error::Trace(_) => PyOSError::new_err(text),
        Error::Full(_) | Error::Design(_) => PyRuntimeError::new_err(text),
    }
}

fn port_counts<'py>(py: Python<'py>, counters: &PortCounters) -> PyResult<Bound<'py, PyDict>> {
    let named = vec![
        ("rx_frames", counters.rx_frames),
        ("rx_bytes", counters.rx_bytes),
        ("rx_drops", counters.rx_drops),
        ("tx_frames", counters.tx_frames),
        ("tx_bytes", counters.tx_bytes),
        ("tx_drops", counters.tx_drops),
        ("tx_malformed", counters.tx_malformed),
        ("rx_stalls", counters.rx_stalls),
        ("tx_stalls", counters.tx_stalls),
        ("bus_faults", counters.bus_faults),
    ];
    counts(py, named)
}

/// A design in virtual time; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct FpgaDesign(Mutex<Option<Design>>);

impl FpgaDesign {
    fn lock(&self) -> MutexGuard<'_, Option<Design>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with the design, without the interpreter lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Design) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.lock().as_mut().map(work)).ok_or_else(gone)?.map_err(design_error)
    }
}

fn gone() -> PyErr {
    PyValueError::new_err("The design runs live: its node has it.")
}

#[pymethods]
impl FpgaDesign {
    #[new]
    #[pyo3(signature = (library, seed = 1))]
    fn new(py: Python<'_>, library: PathBuf, seed: u32) -> PyResult<Self> {
        let design = py.detach(|| Design::open(&library, seed)).map_err(design_error)?;
        Ok(Self(Mutex::new(Some(design))))
    }

    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let description = self.with(py, |design| Ok(*design.description()))?;
        let dict = PyDict::new(py);
        dict.set_item("ports", description.ports)?;
        dict.set_item("word_bytes", description.word_bytes)?;
        dict.set_item("max_frame", description.max_frame)?;
        dict.set_item("max_queued", description.max_queued)?;
        dict.set_item("can_trace", description.can_trace == 1)?;
        dict.set_item("functions", description.functions)?;
        Ok(dict)
    }

    #[pyo3(signature = (cycles = 16))]
    fn reset(&self, py: Python<'_>, cycles: u32) -> PyResult<()> {
        self.with(py, |design| design.reset(cycles))
    }

    #[pyo3(signature = (port, bits_per_1000_cycles = 0, rx_frames = 0, tx_frames = 0))]
    fn set_port(
        &self,
        py: Python<'_>,
        port: u32,
        bits_per_1000_cycles: u32,
        rx_frames: u32,
        tx_frames: u32,
    ) -> PyResult<()> {
        let settings = PortSettings { bits_per_1000_cycles, rx_frames, tx_frames };
        self.with(py, |design| design.set_port(port, &settings))
    }

    #[pyo3(signature = (port, frame, not_before = 0))]
    fn rx(&self, py: Python<'_>, port: u32, frame: &[u8], not_before: u64) -> PyResult<u64> {
        self.with(py, |design| design.receive(port, frame, not_before))
    }

    #[pyo3(signature = (cycles, until_frame = false))]
    fn step(&self, py: Python<'_>, cycles: u64, until_frame: bool) -> PyResult<u64> {
        self.with(py, |design| {
            if until_frame {
                design.step_to_frame(cycles)
            } else {
                design.step(cycles).map(|()| cycles)
            }
        })
    }

    fn step_until_set(
        &self,
        py: Python<'_>,
        address: u16,
        mask: u32,
        cycles: u64,
    ) -> PyResult<bool> {
        self.with(py, |design| design.step_until_set(address, mask, cycles))
    }

    fn preload(&self, py: Python<'_>, port: u32, frame: &[u8]) -> PyResult<()> {
        self.with(py, |design| design.preload(port, frame))
    }

    fn tx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut guard = self.lock();
        let design = guard.as_mut().ok_or_else(gone)?;
        let list = PyList::empty(py);
        for port in design.ready() {
            while let Some(sent) = design.transmitted(port).map_err(design_error)? {
                let frame = PyBytes::new(py, sent.frame);
                list.append((port, frame, sent.first_cycle, sent.cycle, sent.wire_cycle))?;
            }
        }
        Ok(list)
    }

    #[getter]
    fn cycle(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |design| Ok(design.cycle()))
    }

    #[getter]
    fn pending_rx(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |design| Ok(design.pending_rx()))
    }

    #[getter]
    fn pending_tx(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |design| Ok(design.pending_tx()))
    }

    fn counters<'py>(&self, py: Python<'py>, port: u32) -> PyResult<Bound<'py, PyDict>> {
        port_counts(py, &self.with(py, |design| design.counters(port))?)
    }

    fn read_register(&self, py: Python<'_>, address: u16) -> PyResult<u32> {
        self.with(py, |design| design.read_register(address))
    }

    fn write_register(&self, py: Python<'_>, address: u16, value: u32) -> PyResult<()> {
        self.with(py, |design| design.write_register(address, value))
    }

    fn attach(&self, py: Python<'_>, function: u32) -> PyResult<()> {
        self.with(py, |design| design.attach(function))
    }

    fn add_memory(
        &self,
        py: Python<'_>,
        function: u32,
        address: u64,
        length: usize,
    ) -> PyResult<()> {
        self.with(py, |design| design.add_memory(function, address, length))
    }

    fn clear_memory(&self, py: Python<'_>, function: u32) -> PyResult<()> {
        self.with(py, |design| design.clear_memory(function))
    }

    fn read_memory<'py>(
        &self,
        py: Python<'py>,
        function: u32,
        address: u64,
        length: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |design| design.read_memory(function, address, length))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn write_memory(
        &self,
        py: Python<'_>,
        function: u32,
        address: u64,
        bytes: &[u8],
    ) -> PyResult<()> {
        self.with(py, |design| design.write_memory(function, address, bytes))
    }

    fn read_function(
        &self,
        py: Python<'_>,
        function: u32,
        address: u16,
        bytes: u32,
    ) -> PyResult<u32> {
        self.with(py, |design| design.read_function(function, address, bytes))
    }

    fn write_function(
        &self,
        py: Python<'_>,
        function: u32,
        address: u16,
        bytes: u32,
        value: u32,
    ) -> PyResult<()> {
        self.with(py, |design| design.write_function(function, address, bytes, value))
    }

    fn interrupts(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, Design::interrupts)
    }

    #[getter]
    fn pending_bus(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |design| Ok(design.pending_bus()))
    }

    #[pyo3(signature = (read_cycles = 0, write_cycles = 0, register_cycles = 0))]
    fn set_bus(
        &self,
        py: Python<'_>,
        read_cycles: u32,
        write_cycles: u32,
        register_cycles: u32,
    ) -> PyResult<()> {
        let settings = BusSettings { read_cycles, write_cycles, register_cycles };
        self.with(py, |design| design.set_bus(&settings))
    }

    fn trace_open(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |design| design.trace_open(&path))
    }

    fn trace_close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Design::trace_close)
    }

    #[pyo3(signature = (ports, idle_cycles = 4096, max_mhz = None))]
    fn run_live(
        &self,
        py: Python<'_>,
        ports: Vec<(u32, String, String)>,
        idle_cycles: u64,
        max_mhz: Option<f64>,
    ) -> PyResult<FpgaNode> {
        let ports = ports
            .iter()
            .map(|(port, first, second)| {
                let end = match first.as_str() {
                    "vhost" => End::Guest(second.into()),
                    _ => End::Link(plug(&format!("port {port}"), first, second, true)?),
                };
                Ok((*port, end))
            })
            .collect::<PyResult<_>>()?;
        let config = LiveConfig { ports, idle_cycles, max_hz: max_mhz.map(|mhz| mhz * 1e6) };
        let design = self.lock().take().ok_or_else(gone)?;
        let node = py.detach(|| LiveDesign::new(design, config));
        node.map(FpgaNode).map_err(|error| io_error(&error))
    }
}

/// A design that runs live; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct FpgaNode(LiveDesign);

impl FpgaNode {
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Design) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let done = py.detach(|| self.0.with(work));
        done.map_err(PyRuntimeError::new_err)?.map_err(design_error)
    }
}

#[pymethods]
impl FpgaNode {
    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(|error| io_error(&error))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn refusals(&self) -> BTreeMap<u32, String> {
        self.0.refusals()
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts(py, self.0.statistics())
    }

    fn counters<'py>(&self, py: Python<'py>, port: u32) -> PyResult<Bound<'py, PyDict>> {
        port_counts(py, &self.with(py, move |design| design.counters(port))?)
    }

    fn read_register(&self, py: Python<'_>, address: u16) -> PyResult<u32> {
        self.with(py, move |design| design.read_register(address))
    }

    fn write_register(&self, py: Python<'_>, address: u16, value: u32) -> PyResult<()> {
        self.with(py, move |design| design.write_register(address, value))
    }
}
