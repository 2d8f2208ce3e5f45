//! The methods of `Simulation`.

use std::collections::BTreeMap;

use netkv_rack::impair::Impairment;
use netkv_rack::sim::{End, RackConfig, Simulation as Rack};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::channel::Channel;
use super::delivery::Delivery;
use super::simulation::Simulation;
use crate::errors::SimulationError;
use crate::json;
use crate::p4runtime::PlainWrites;
use crate::switch::Switch;

#[pymethods]
impl Simulation {
    #[new]
    fn new(config: &str, switches: Vec<Bound<'_, Switch>>) -> PyResult<Self> {
        let config: RackConfig = serde_json::from_str(config).map_err(|error| {
            PyValueError::new_err(format!("The configuration of the rack is wrong: {error}."))
        })?;
        let engines = switches.iter().map(|switch| switch.get().shared()).collect();
        let rack = Rack::new(&config, engines).map_err(PyValueError::new_err)?;
        Ok(Self { rack, channels: BTreeMap::new(), continued: Vec::new() })
    }

    fn now(&self) -> u64 {
        self.rack.now()
    }

    #[pyo3(signature = (threads, *, always = false))]
    fn use_threads(&mut self, threads: usize, always: bool) {
        self.rack.use_threads(threads, always);
    }

    #[pyo3(signature = (until, *, deliver = false))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        mut until: u64,
        deliver: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let list = PyList::empty(py);
        loop {
            let (notices, now) = {
                let rack = &mut slf.borrow_mut().rack;
                py.detach(|| rack.run(until).map(|notices| (notices, rack.now())))
                    .map_err(SimulationError::new_err)?
            };
            for notice in notices {
                let switch = notice.switch();
                // What the caller does comes before what follows from later notices.
                let delivery = if deliver && list.is_empty() {
                    Self::deliver(slf, notice, until)?
                } else {
                    Delivery::ForCaller(Self::notice(slf, notice)?)
                };
                match delivery {
                    Delivery::Handled(deadline) => {
                        slf.borrow_mut().deadline_is_known(switch);
                        until = deadline.map_or(until, |deadline| until.min(deadline.max(now)));
                    }
                    Delivery::Continued(deadline) => {
                        slf.borrow_mut().deadline_is_unknown(switch);
                        until = deadline.map_or(until, |deadline| until.min(deadline.max(now)));
                    }
                    Delivery::ForCaller(Some(notice)) => list.append(notice)?,
                    Delivery::ForCaller(None) => {}
                }
            }
            if !list.is_empty() || now >= until {
                for switch in slf.borrow_mut().continued.drain(..) {
                    list.append(("continued", switch))?;
                }
                return Ok(list);
            }
        }
    }

    fn open_channel(
        &mut self,
        switch: u16,
        name: Py<PyString>,
        packet_bytes: u64,
        writes: Option<Py<PlainWrites>>,
        size_of: Py<PyAny>,
    ) {
        let channel = Channel::new(switch, name, packet_bytes, writes, size_of);
        self.channels.insert(switch, channel);
    }

    fn deliver_to(&mut self, switch: u16, controller: Option<Py<PyAny>>) {
        if let Some(channel) = self.channel(switch) {
            channel.controller = controller;
        }
    }

    fn channel_bytes(&self, switch: u16) -> u64 {
        self.channels.get(&switch).map_or(0, |channel| channel.bytes)
    }

    fn write(&mut self, switch: u16, token: u64) -> PyResult<bool> {
        self.rack.write(switch, token, None).map_err(PyValueError::new_err)
    }

    fn write_plain(&mut self, switch: u16, write: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        let Self { rack, channels, .. } = self;
        channels.get_mut(&switch).map_or(Ok(None), |channel| channel.write(rack, write))
    }

    fn send_frame(&mut self, switch: u16, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let Self { rack, channels, .. } = self;
        channels.get_mut(&switch).map_or(Ok(()), |channel| channel.send_frame(rack, action))
    }

    fn discard_updates(&mut self, switch: u16) -> PyResult<()> {
        if let Some(channel) = self.channel(switch) {
            channel.discard_writes();
        }
        self.rack.discard_updates(switch).map_err(PyValueError::new_err)
    }

    fn answer(&mut self, switch: u16, token: u64) -> PyResult<()> {
        self.rack.answer(switch, token).map_err(PyValueError::new_err)
    }

    fn packet_out(&mut self, switch: u16, frame: &[u8]) -> PyResult<()> {
        self.rack.packet_out(switch, frame).map_err(PyValueError::new_err)
    }

    fn command(&mut self, py: Python<'_>, text: &str) -> PyResult<String> {
        self.at_rest(py).command(text).map(|reply| reply.to_string()).map_err(PyValueError::new_err)
    }

    fn sample<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sample = self.at_rest(py).sample();
        json::to_python(py, &sample)
    }

    fn statistics<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.at_rest(py).statistics())
    }

    fn stop_switch(&mut self, switch: u16) -> PyResult<()> {
        self.rack.stop_switch(switch).map_err(PyValueError::new_err)
    }

    fn start_switch(&mut self, switch: u16) -> PyResult<()> {
        self.rack.start_switch(switch).map_err(PyValueError::new_err)
    }

    fn stop_server(&mut self, server: u16) -> PyResult<()> {
        self.rack.stop_server(server).map_err(PyValueError::new_err)
    }

    fn start_server(&mut self, server: u16, keep_storage: bool) -> PyResult<()> {
        self.rack.start_server(server, keep_storage).map_err(PyValueError::new_err)
    }

    fn slow_server(&mut self, server: u16, factor: f64) -> PyResult<()> {
        self.rack.slow_server(server, factor).map_err(PyValueError::new_err)
    }

    fn stop_coordinator(&mut self) -> PyResult<()> {
        self.rack.stop_coordinator().map_err(PyValueError::new_err)
    }

    fn start_coordinator(&mut self) -> PyResult<()> {
        self.rack.start_coordinator().map_err(PyValueError::new_err)
    }

    fn set_client(&mut self, py: Python<'_>, client: u16, up: bool) -> PyResult<()> {
        self.at_rest(py).set_client(client, up).map_err(PyValueError::new_err)
    }

    fn set_card(&mut self, card: u16, up: bool) -> PyResult<()> {
        self.rack.set_card(card, up).map_err(PyValueError::new_err)
    }

    fn cut_channel(&mut self, switch: u16, cut: bool) -> PyResult<()> {
        self.rack.cut_channel(switch, cut).map_err(PyValueError::new_err)
    }

    fn connect(&mut self, switch: u16, connected: bool) -> PyResult<()> {
        self.rack.connect(switch, connected).map_err(PyValueError::new_err)
    }

    #[pyo3(signature = (kind, number, to = None, from_ = None, port = 0))]
    fn impair(
        &mut self,
        py: Python<'_>,
        kind: &str,
        number: u16,
        to: Option<&str>,
        from_: Option<&str>,
        port: u16,
    ) -> PyResult<()> {
        let parse = |text: Option<&str>| {
            text.map(Impairment::parse).transpose().map_err(PyValueError::new_err)
        };
        self.at_rest(py)
            .impair(end(kind, number, port)?, parse(to)?, parse(from_)?)
            .map_err(PyValueError::new_err)
    }

    fn watch(&mut self, py: Python<'_>, keys: Vec<[u8; 16]>, limit: usize) {
        self.at_rest(py).watch(&keys, limit);
    }

    fn journal(&mut self, py: Python<'_>) -> Vec<String> {
        self.at_rest(py).journal()
    }
}

fn end(name: &str, number: u16, port: u16) -> PyResult<End> {
    match name {
        "client" => Ok(End::Client(number)),
        "server" => Ok(End::Server(number)),
        "coordinator" => Ok(End::Coordinator),
        "card" => Ok(End::Card(number, port)),
        "switch" => Ok(End::Switch(number, port)),
        _ => Err(PyValueError::new_err(format!(
            "'{name}' is no end of a link; it is 'client', 'server', 'coordinator', 'card' or \
             'switch'."
        ))),
    }
}
