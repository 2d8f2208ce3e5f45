//! `Simulation`: a rack in virtual time, whose controllers are in Python.

use netkv_rack::impair::Impairment;
use netkv_rack::sim::{End, Notice, RackConfig, Simulation as Rack};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::digests::digests_out;
use crate::json;
use crate::p4runtime::PlainWrites;
use crate::switch::Switch;

/// See `_engine.pyi`.
#[pyclass(module = "netkv._engine")]
pub struct Simulation(Rack);

fn wrong(text: String) -> PyErr {
    PyValueError::new_err(text)
}

fn notice_out(py: Python<'_>, notice: Notice) -> PyResult<Py<PyAny>> {
    match notice {
        Notice::PacketIn { switch, frame } => {
            ("packet-in", switch, PyBytes::new(py, &frame)).into_py_any(py)
        }
        Notice::Digest { switch, digest } => {
            let list = digests_out(py, &[digest])?;
            ("digest", switch, list.get_item(0)?).into_py_any(py)
        }
        Notice::Write { switch, token, pipeline } => {
            ("write", switch, token, pipeline).into_py_any(py)
        }
        Notice::Answered { switch, token, error } => {
            ("answered", switch, token, error).into_py_any(py)
        }
    }
}

fn end(name: &str, number: u16, port: u16) -> PyResult<End> {
    match name {
        "client" => Ok(End::Client(number)),
        "server" => Ok(End::Server(number)),
        "coordinator" => Ok(End::Coordinator),
        "card" => Ok(End::Card(number, port)),
        "switch" => Ok(End::Switch(number, port)),
        _ => Err(wrong(format!(
            "'{name}' is no end of a link; it is 'client', 'server', 'coordinator', 'card' or \
             'switch'."
        ))),
    }
}

#[pymethods]
impl Simulation {
    #[new]
    fn new(config: &str, switches: Vec<Bound<'_, Switch>>) -> PyResult<Self> {
        let config: RackConfig = serde_json::from_str(config)
            .map_err(|error| wrong(format!("The configuration of the rack is wrong: {error}.")))?;
        let engines = switches.iter().map(|switch| switch.get().shared()).collect();
        Rack::new(&config, engines).map(Self).map_err(wrong)
    }

    fn now(&self) -> u64 {
        self.0.now()
    }

    fn run<'py>(&mut self, py: Python<'py>, until: u64) -> PyResult<Bound<'py, PyList>> {
        let rack = &mut self.0;
        let notices = py.detach(|| rack.run(until)).map_err(wrong)?;
        let list = PyList::empty(py);
        for notice in notices {
            list.append(notice_out(py, notice)?)?;
        }
        Ok(list)
    }

    fn write(&mut self, switch: u16, token: u64) -> PyResult<bool> {
        self.0.write(switch, token, None).map_err(wrong)
    }

    fn write_plain(
        &mut self,
        switch: u16,
        token: u64,
        writes: &PlainWrites,
        write: &Bound<'_, PyAny>,
    ) -> PyResult<Option<bool>> {
        let Some(update) = writes.update(write) else { return Ok(None) };
        self.0.write(switch, token, Some(update)).map(Some).map_err(wrong)
    }

    fn discard_updates(&mut self, switch: u16) -> PyResult<()> {
        self.0.discard_updates(switch).map_err(wrong)
    }

    fn answer(&mut self, switch: u16, token: u64) -> PyResult<()> {
        self.0.answer(switch, token).map_err(wrong)
    }

    fn packet_out(&mut self, switch: u16, frame: &[u8]) -> PyResult<()> {
        self.0.packet_out(switch, frame).map_err(wrong)
    }

    fn command(&mut self, text: &str) -> PyResult<String> {
        self.0.command(text).map(|reply| reply.to_string()).map_err(wrong)
    }

    fn sample<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sample = self.0.sample();
        json::to_python(py, &sample)
    }

    fn statistics<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.0.statistics())
    }

    fn stop_switch(&mut self, switch: u16) -> PyResult<()> {
        self.0.stop_switch(switch).map_err(wrong)
    }

    fn start_switch(&mut self, switch: u16) -> PyResult<()> {
        self.0.start_switch(switch).map_err(wrong)
    }

    fn stop_server(&mut self, server: u16) -> PyResult<()> {
        self.0.stop_server(server).map_err(wrong)
    }

    fn start_server(&mut self, server: u16, keep_storage: bool) -> PyResult<()> {
        self.0.start_server(server, keep_storage).map_err(wrong)
    }

    fn slow_server(&mut self, server: u16, factor: f64) -> PyResult<()> {
        self.0.slow_server(server, factor).map_err(wrong)
    }

    fn stop_coordinator(&mut self) -> PyResult<()> {
        self.0.stop_coordinator().map_err(wrong)
    }

    fn start_coordinator(&mut self) -> PyResult<()> {
        self.0.start_coordinator().map_err(wrong)
    }

    fn set_client(&mut self, client: u16, up: bool) -> PyResult<()> {
        self.0.set_client(client, up).map_err(wrong)
    }

    fn set_card(&mut self, card: u16, up: bool) -> PyResult<()> {
        self.0.set_card(card, up).map_err(wrong)
    }

    fn cut_channel(&mut self, switch: u16, cut: bool) -> PyResult<()> {
        self.0.cut_channel(switch, cut).map_err(wrong)
    }

    fn connect(&mut self, switch: u16, connected: bool) -> PyResult<()> {
        self.0.connect(switch, connected).map_err(wrong)
    }

    #[pyo3(signature = (kind, number, to = None, from_ = None, port = 0))]
    fn impair(
        &mut self,
        kind: &str,
        number: u16,
        to: Option<&str>,
        from_: Option<&str>,
        port: u16,
    ) -> PyResult<()> {
        let parse = |text: Option<&str>| text.map(Impairment::parse).transpose().map_err(wrong);
        self.0.impair(end(kind, number, port)?, parse(to)?, parse(from_)?).map_err(wrong)
    }

    fn watch(&mut self, keys: Vec<[u8; 16]>, limit: usize) {
        self.0.watch(keys, limit);
    }

    fn journal(&self) -> Vec<String> {
        self.0.journal()
    }
}
