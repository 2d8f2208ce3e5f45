//! Switches and loads for `netkv bench`: filled switches, the echo node, and two closed-loop loads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use netkv_bench::{Case, Executor, Traffic};
use netkv_compiled::ExecutorKind;
use netkv_dataplane::{PIPELINES, SwitchOptions};
use netkv_rack::echo::{EchoNode as Node, Echoes};
use netkv_rack::load::{DatagramLoad as Datagrams, Report, Requests, StreamLoad as Stream};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::bundle;
use crate::errors::io_error;
use crate::nodes::{address, counts, duration, plug, port_configs};
use crate::switch::Switch;

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (program, path, executor, entries, value_size, file = None, include_dirs = Vec::new(), pipelines = 1))]
#[allow(clippy::too_many_arguments)] // the interface is Python's, with keywords
pub fn filled_switch<'py>(
    py: Python<'py>,
    program: &str,
    path: &str,
    executor: &str,
    entries: u32,
    value_size: u32,
    file: Option<PathBuf>,
    include_dirs: Vec<PathBuf>,
    pipelines: usize,
) -> PyResult<(Switch, Vec<Bound<'py, PyDict>>)> {
    let kind = bundle::executor(executor)?;
    let executor = match kind {
        ExecutorKind::Compiled => Executor::Compiled,
        ExecutorKind::Interpreter => Executor::Interpreter,
    };
    if !PIPELINES.contains(&pipelines) {
        let text = format!("A switch has 1, 2 or 4 pipelines, not {pipelines}.");
        return Err(PyValueError::new_err(text));
    }
    let case =
        Case { file, include_dirs, entries, value_size, pipelines, ..Case::new(program, path) };
    let (switch, traffic) = py
        .detach(|| netkv_bench::filled_switch(&case, executor))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let dicts = traffic.iter().map(|traffic| traffic_out(py, traffic)).collect::<PyResult<_>>()?;
    Ok((Switch::around(switch, SwitchOptions { seed: 1, pipelines }, kind), dicts))
}

fn traffic_out<'py>(py: Python<'py>, traffic: &Traffic) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let frames: Vec<_> =
        traffic.frames.slices().iter().map(|frame| PyBytes::new(py, frame)).collect();
    dict.set_item("port", traffic.port)?;
    dict.set_item("frames", frames)?;
    dict.set_item("leave_at", *traffic.output_ports.start())?;
    dict.set_item("leave_bytes", traffic.output_bytes)?;
    Ok(dict)
}

/// A node that echoes; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct EchoNode(Node);

#[pymethods]
impl EchoNode {
    #[new]
    #[pyo3(signature = (ports, reply_bytes, trains = true, pipelines = 1))]
    fn new(
        ports: Vec<(u16, String, String)>,
        reply_bytes: usize,
        trains: bool,
        pipelines: usize,
    ) -> PyResult<Self> {
        let ports = port_configs(&ports, trains)?;
        if !PIPELINES.contains(&pipelines) {
            let text = format!("An echo has 1, 2 or 4 pipelines, not {pipelines}.");
            return Err(PyValueError::new_err(text));
        }
        let echoes = Arc::new(Echoes::new(reply_bytes, pipelines));
        let node = Node::new(echoes, &ports, netkv_rack::echo::NO_CPU_PORT);
        node.map(Self).map_err(|error| io_error(&error))
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(|error| io_error(&error))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts(py, self.0.statistics())
    }

    fn threads(&self) -> Vec<u32> {
        self.0.threads()
    }

    fn pipeline_statistics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.pipeline_statistics().into_iter().map(|lane| counts(py, lane)).collect()
    }
}

fn requests_of(frames: &[Vec<u8>], reply_bytes: usize) -> PyResult<Requests> {
    Requests::new(frames.iter().map(Vec::as_slice), reply_bytes).map_err(PyValueError::new_err)
}

fn checked(window: usize) -> PyResult<()> {
    match window {
        1..=65_536 => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "A window of {window} outstanding requests is not possible; it must be 1 to 65536."
        ))),
    }
}

fn document<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("replies", report.replies)?;
    dict.set_item("wrong", report.wrong)?;
    dict.set_item("lost", report.lost)?;
    dict.set_item("seconds", report.elapsed.as_secs_f64())?;
    dict.set_item("cpu_s", report.cpu.as_secs_f64())?;
    dict.set_item("ns_p50", report.latency.map(|(median, _)| median.as_nanos() as u64))?;
    dict.set_item("ns_p99", report.latency.map(|(_, p99)| p99.as_nanos() as u64))?;
    Ok(dict)
}

/// A load of datagrams; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct DatagramLoad(Datagrams);

#[pymethods]
impl DatagramLoad {
    #[new]
    #[pyo3(signature = (bind, peer, frames, reply_bytes, trains = true))]
    fn new(
        bind: &str,
        peer: &str,
        frames: Vec<Vec<u8>>,
        reply_bytes: usize,
        trains: bool,
    ) -> PyResult<Self> {
        let plug = plug("the load", bind, peer, trains)?;
        let requests = requests_of(&frames, reply_bytes)?;
        Datagrams::new(&plug, requests).map(Self).map_err(|error| io_error(&error))
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        window: usize,
        seconds: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        checked(window)?;
        let duration = duration(seconds)?;
        let report = py.detach(|| self.0.run(window, duration));
        document(py, &report.map_err(|error| io_error(&error))?)
    }
}

/// A load on a TCP connection; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct StreamLoad(Mutex<Stream>);

#[pymethods]
impl StreamLoad {
    #[new]
    fn new(
        py: Python<'_>,
        peer: &str,
        requests: Vec<Vec<u8>>,
        reply_bytes: usize,
    ) -> PyResult<Self> {
        let peer = address(peer, "the load's peer")?;
        let requests = requests_of(&requests, reply_bytes)?;
        let stream = py.detach(|| Stream::new(peer, requests));
        stream.map(|stream| Self(Mutex::new(stream))).map_err(|error| io_error(&error))
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        window: usize,
        seconds: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        checked(window)?;
        let duration = duration(seconds)?;
        let report = py.detach(|| {
            let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            stream.run(window, duration)
        });
        document(py, &report.map_err(|error| io_error(&error))?)
    }
}
