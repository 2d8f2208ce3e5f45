//! The nodes of a rack. Their threads do not hold Python's interpreter lock.

use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::time::Duration;

use netkv_rack::client::ClientNode as Client;
use netkv_rack::config::{ClientConfig, CoordinatorConfig, ServerConfig};
use netkv_rack::coordinator::CoordinatorNode as Coordinator;
use netkv_rack::impair::{Direction, Impairment};
use netkv_rack::server::ServerNode as Server;
use netkv_rack::store::Store;
use netkv_rack::switch::{PortConfig, SwitchNode as Node};
use netkv_rack::sys::Plug;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde::de::DeserializeOwned;

use crate::digests::digests_out;
use crate::errors::io_error;
use crate::json;
use crate::store::PythonStore;
use crate::switch::Switch;

/// Parses an address like 127.0.0.1:7000.
pub fn address(text: &str, what: &str) -> PyResult<SocketAddrV4> {
    netkv_rack::sys::address(text, what).map_err(PyValueError::new_err)
}

fn parsed<T: DeserializeOwned>(config: &str, node: &str) -> PyResult<T> {
    serde_json::from_str(config).map_err(|error| {
        PyValueError::new_err(format!("The configuration of the {node} node is wrong: {error}."))
    })
}

/// Converts a time-out in seconds.
pub fn duration(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        PyValueError::new_err(format!("{value} is not a time to wait; it must be 0 or more."))
    })
}

/// Parses the two words for a port or a load that `_engine.pyi` describes.
pub fn plug(owner: &str, first: &str, second: &str, trains: bool) -> PyResult<Plug> {
    Plug::parse(owner, first, second, trains).map_err(PyValueError::new_err)
}

/// Parses the ports of a switch; `_engine.pyi` describes their form.
pub fn port_configs(ports: &[(u16, String, String)], trains: bool) -> PyResult<Vec<PortConfig>> {
    ports
        .iter()
        .map(|(port, bind, peer)| {
            let plug = plug(&format!("switch port {port}"), bind, peer, trains)?;
            Ok(PortConfig { port: *port, plug })
        })
        .collect()
}

/// Counts as a dict.
pub fn counts<'py>(
    py: Python<'py>,
    counts: Vec<(&'static str, u64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in counts {
        dict.set_item(name, count)?;
    }
    Ok(dict)
}

/// The node of a switch; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct SwitchNode(Node);

#[pymethods]
impl SwitchNode {
    #[new]
    #[pyo3(signature = (switch, ports, cpu_port = 510, trains = true, seed = 1))]
    fn new(
        switch: &Bound<'_, Switch>,
        ports: Vec<(u16, String, String)>,
        cpu_port: u16,
        trains: bool,
        seed: u64,
    ) -> PyResult<Self> {
        let ports = port_configs(&ports, trains)?;
        let node = Node::seeded(switch.get().shared(), &ports, cpu_port, seed);
        node.map(Self).map_err(|error| io_error(&error))
    }

    fn record(&self, directory: PathBuf) -> PyResult<()> {
        self.0.record(&directory).map_err(|error| io_error(&error))
    }

    fn capture(&self, limit: usize) {
        self.0.capture(limit);
    }

    fn captured(&self) -> usize {
        self.0.captured()
    }

    fn end_capture<'py>(&self, py: Python<'py>) -> Vec<(u16, Bound<'py, PyBytes>)> {
        let captured = self.0.end_capture();
        captured.iter().map(|(port, frame)| (*port, PyBytes::new(py, frame))).collect()
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(|error| io_error(&error))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn pause(&self, py: Python<'_>) {
        py.detach(|| self.0.pause());
    }

    fn resume(&self, py: Python<'_>) {
        py.detach(|| self.0.resume());
    }

    fn impair(&self, port: u16, direction: &str, impairment: &str) -> PyResult<()> {
        let direction = match direction {
            "to" => Direction::To,
            "from" => Direction::From,
            other => {
                return Err(PyValueError::new_err(format!(
                    "'{other}' is not a direction of a link; it is 'to' or 'from' the host."
                )));
            }
        };
        let impairment = Impairment::parse(impairment).map_err(PyValueError::new_err)?;
        self.0.impair(port, direction, impairment).map_err(PyValueError::new_err)
    }

    fn packet_out(&self, frame: &[u8]) {
        self.0.packet_out(frame.to_vec());
    }

    fn wait<'py>(
        &self,
        py: Python<'py>,
        timeout_s: f64,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let timeout = duration(timeout_s)?;
        let (frames, digests) = py.detach(|| self.0.wait(timeout));
        if frames.is_empty()
            && digests.is_empty()
            && let Some(failure) = self.0.failure()
        {
            return Err(PyRuntimeError::new_err(failure));
        }
        let packet_ins = PyList::new(py, frames.iter().map(|frame| PyBytes::new(py, frame)))?;
        Ok((packet_ins, digests_out(py, &digests)?))
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts(py, self.0.statistics())
    }

    fn threads(&self) -> Vec<u32> {
        self.0.threads()
    }

    fn port_statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (port, found) in self.0.port_statistics() {
            dict.set_item(port, counts(py, found)?)?;
        }
        Ok(dict)
    }

    fn pipeline_statistics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.pipeline_statistics().into_iter().map(|lane| counts(py, lane)).collect()
    }
}

/// The shim of one or more storage servers; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct ServerNode(Server);

#[pymethods]
impl ServerNode {
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        let config: ServerConfig = parsed(config, "server")?;
        Server::new(config).map(Self).map_err(|error| io_error(&error))
    }

    #[pyo3(signature = (store = None))]
    fn start(&self, py: Python<'_>, store: Option<Py<PyAny>>) -> PyResult<()> {
        let store: Box<dyn Store> = match store {
            None => Box::new(self.0.memory_store()),
            Some(backend) => Box::new(PythonStore::new(backend.bind(py))?),
        };
        py.detach(|| self.0.start(store)).map_err(|error| io_error(&error))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn slow(&self, py: Python<'_>, factor: f64) -> PyResult<()> {
        // Detached, as `statistics`.
        py.detach(|| self.0.slow(factor)).map_err(PyValueError::new_err)
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Detached: the node's loop may hold the lock of the servers while its back end waits for
        // the interpreter lock.
        let statistics = py.detach(|| self.0.statistics());
        json::to_python(py, &statistics)
    }
}

/// The coordinator of multigets; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct CoordinatorNode(Coordinator);

#[pymethods]
impl CoordinatorNode {
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        let config: CoordinatorConfig = parsed(config, "coordinator")?;
        Coordinator::new(&config).map(Self).map_err(|error| io_error(&error))
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(|error| io_error(&error))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let statistics = py.detach(|| self.0.statistics());
        json::to_python(py, &statistics)
    }
}

/// The load generator; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct ClientNode(Client);

#[pymethods]
impl ClientNode {
    #[new]
    fn new(py: Python<'_>, config: &str) -> PyResult<Self> {
        let config: ClientConfig = parsed(config, "client")?;
        py.detach(|| Client::new(&config)).map(Self).map_err(|error| io_error(&error))
    }

    fn start(&self) -> PyResult<()> {
        self.0.start().map_err(|error| io_error(&error))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn command(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        py.detach(|| self.0.command(text))
            .map(|reply| reply.to_string())
            .map_err(PyValueError::new_err)
    }

    fn sample<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sample = py.detach(|| self.0.sample());
        json::to_python(py, &sample)
    }
}
