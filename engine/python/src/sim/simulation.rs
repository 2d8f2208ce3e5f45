//! The state of a simulation: the rack, and the channels to its controllers.

use std::collections::BTreeMap;

use netkv_rack::sim::Simulation as Rack;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::channel::Channel;

/// See `_engine.pyi`.
#[pyclass(module = "netkv._engine")]
pub struct Simulation {
    pub rack: Rack,
    /// By the number of the switch.
    pub channels: BTreeMap<u16, Channel>,
    /// Switches about which an operation has continued; the caller does not know the deadline of
    /// their controllers.
    pub continued: Vec<u16>,
}

impl Drop for Simulation {
    fn drop(&mut self) {
        Python::attach(|py| {
            self.at_rest(py);
        });
    }
}

impl Simulation {
    /// The rack, when no other thread simulates a part of it. That thread may be in a role in
    /// Python, which waits for this one to release the interpreter.
    pub fn at_rest(&mut self, py: Python<'_>) -> &mut Rack {
        let rack = &mut self.rack;
        py.detach(|| rack.rest());
        rack
    }

    pub fn channel(&mut self, switch: u16) -> Option<&mut Channel> {
        self.channels.get_mut(&switch)
    }

    /// The caller knows the deadline of the controller of a switch.
    pub fn deadline_is_known(&mut self, switch: u16) {
        let Self { channels, continued, .. } = self;
        let controller = |number: &u16| channels.get(number).map(Channel::controller_id);
        continued.retain(|other| controller(other) != controller(&switch));
    }

    pub fn deadline_is_unknown(&mut self, switch: u16) {
        if !self.continued.contains(&switch) {
            self.continued.push(switch);
        }
    }

    /// Whether the engine carries out the plain writes of a switch.
    pub fn has_plain_writes(&self, switch: u16) -> bool {
        self.channels.get(&switch).is_some_and(Channel::has_plain_writes)
    }

    /// The number of a switch by its name in actions, preferably `from`: names are unique only
    /// among the switches of a controller.
    pub fn number_of(&self, from: u16, name: &Bound<'_, PyString>) -> PyResult<Option<u16>> {
        let py = name.py();
        let wanted = name.to_cow()?;
        let has_name = |channel: &Channel| PyResult::Ok(channel.name.bind(py).to_cow()? == wanted);
        if self.channels.get(&from).is_some_and(|it| has_name(it).unwrap_or(false)) {
            return Ok(Some(from));
        }
        for (number, channel) in &self.channels {
            if has_name(channel)? {
                return Ok(Some(*number));
            }
        }
        Ok(None)
    }
}
