//! `Switch`: registers, counters, meters, multicast groups and clone sessions.

use netkv_dataplane::{CloneSession, CounterData, MeterConfig, Replica};
use netkv_ir::Value;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::switch::Switch;
use crate::values::{bytes_of, keys_of_table, matches_of, value_of};

/// cir, cburst, pir, pburst.
pub type Rates = (u64, u64, u64, u64);

/// A meter's configuration as Python wants it.
pub fn rates_of(config: MeterConfig) -> Rates {
    (config.cir, config.cburst, config.pir, config.pburst)
}

fn config_of((cir, cburst, pir, pburst): Rates) -> MeterConfig {
    MeterConfig { cir, cburst, pir, pburst }
}

fn session_of(replicas: Vec<Replica>, class_of_service: u32, packet_length: u32) -> CloneSession {
    CloneSession { replicas, class_of_service, packet_length_bytes: packet_length }
}

#[pymethods]
impl Switch {
    #[pyo3(signature = (register_id, index = None, *, pipeline = None))]
    fn read_register<'py>(
        &self,
        py: Python<'py>,
        register_id: u32,
        index: Option<u32>,
        pipeline: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let cells =
            self.read_in(py, pipeline, |engine| engine.read_register(register_id, index))?;
        let cells = cells.iter().map(|(at, value)| (*at, PyBytes::new(py, &bytes_of(value))));
        PyList::new(py, cells.collect::<Vec<_>>())
    }

    #[pyo3(signature = (register_id, index, value, *, pipeline = None))]
    fn write_register(
        &self,
        py: Python<'_>,
        register_id: u32,
        index: Option<u32>,
        value: &[u8],
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let program = self.program(py);
        let register = program.registers.iter().find(|r| r.identity.id == register_id);
        let value = match register {
            Some(register) => {
                value_of(py, register.width, value, &format!("'{}'", register.identity.name))?
            }
            // The switch refuses the register by its id; the width does not matter.
            None => Value::from_bytes(value.len() as u32 * 8, value),
        };
        self.control_in(py, pipeline, |engine| engine.write_register(register_id, index, &value))
    }

    #[pyo3(signature = (counter_id, index = None, *, pipeline = None))]
    fn read_counter(
        &self,
        py: Python<'_>,
        counter_id: u32,
        index: Option<u32>,
        pipeline: Option<usize>,
    ) -> PyResult<Vec<(u32, u64, u64)>> {
        let cells = self.read_in(py, pipeline, |engine| engine.read_counter(counter_id, index))?;
        Ok(cells.into_iter().map(|(at, data)| (at, data.packets, data.bytes)).collect())
    }

    #[pyo3(signature = (counter_id, index, packets, bytes, *, pipeline = None))]
    fn write_counter(
        &self,
        py: Python<'_>,
        counter_id: u32,
        index: Option<u32>,
        packets: u64,
        bytes: u64,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let data = CounterData { packets, bytes };
        self.control_in(py, pipeline, |engine| engine.write_counter(counter_id, index, data))
    }

    #[pyo3(signature = (table_id, matches, priority, packets, bytes, *, pipeline = None))]
    #[allow(clippy::too_many_arguments)] // the interface is Python's, with keywords
    fn write_direct_counter(
        &self,
        py: Python<'_>,
        table_id: u32,
        matches: Vec<Bound<'_, PyAny>>,
        priority: u32,
        packets: u64,
        bytes: u64,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let keys = keys_of_table(&self.program(py), table_id);
        let matches = matches_of(py, &keys, &matches)?;
        let data = CounterData { packets, bytes };
        self.control_in(py, pipeline, |engine| {
            engine.write_direct_counter(table_id, &matches, priority, data)
        })
    }

    #[pyo3(signature = (meter_id, index = None, *, pipeline = None))]
    fn read_meter(
        &self,
        py: Python<'_>,
        meter_id: u32,
        index: Option<u32>,
        pipeline: Option<usize>,
    ) -> PyResult<Vec<(u32, Option<Rates>)>> {
        let cells = self.read_in(py, pipeline, |engine| engine.read_meter(meter_id, index))?;
        Ok(cells.into_iter().map(|(at, config)| (at, config.map(rates_of))).collect())
    }

    #[pyo3(signature = (meter_id, index, config, *, pipeline = None))]
    fn write_meter(
        &self,
        py: Python<'_>,
        meter_id: u32,
        index: Option<u32>,
        config: Option<Rates>,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let config = config.map(config_of);
        self.control_in(py, pipeline, |engine| engine.write_meter(meter_id, index, config))
    }

    #[pyo3(signature = (table_id, matches, priority, config, *, pipeline = None))]
    fn write_direct_meter(
        &self,
        py: Python<'_>,
        table_id: u32,
        matches: Vec<Bound<'_, PyAny>>,
        priority: u32,
        config: Option<Rates>,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let keys = keys_of_table(&self.program(py), table_id);
        let matches = matches_of(py, &keys, &matches)?;
        let config = config.map(config_of);
        self.control_in(py, pipeline, |engine| {
            engine.write_direct_meter(table_id, &matches, priority, config)
        })
    }

    fn insert_multicast_group(
        &self,
        py: Python<'_>,
        group: u32,
        replicas: Vec<Replica>,
    ) -> PyResult<()> {
        self.control(py, |engine| engine.insert_multicast_group(group, replicas))
    }

    fn modify_multicast_group(
        &self,
        py: Python<'_>,
        group: u32,
        replicas: Vec<Replica>,
    ) -> PyResult<()> {
        self.control(py, |engine| engine.modify_multicast_group(group, replicas))
    }

    fn delete_multicast_group(&self, py: Python<'_>, group: u32) -> PyResult<()> {
        self.control(py, |engine| engine.delete_multicast_group(group))
    }

    fn read_multicast_groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (group, replicas) in self.with(py, |engine| engine.read_multicast_groups(None)) {
            dict.set_item(group, replicas)?;
        }
        Ok(dict)
    }

    #[pyo3(signature = (session, replicas, class_of_service = 0, packet_length = 0))]
    fn insert_clone_session(
        &self,
        py: Python<'_>,
        session: u32,
        replicas: Vec<Replica>,
        class_of_service: u32,
        packet_length: u32,
    ) -> PyResult<()> {
        let content = session_of(replicas, class_of_service, packet_length);
        self.control(py, |engine| engine.insert_clone_session(session, content))
    }

    #[pyo3(signature = (session, replicas, class_of_service = 0, packet_length = 0))]
    fn modify_clone_session(
        &self,
        py: Python<'_>,
        session: u32,
        replicas: Vec<Replica>,
        class_of_service: u32,
        packet_length: u32,
    ) -> PyResult<()> {
        let content = session_of(replicas, class_of_service, packet_length);
        self.control(py, |engine| engine.modify_clone_session(session, content))
    }

    fn delete_clone_session(&self, py: Python<'_>, session: u32) -> PyResult<()> {
        self.control(py, |engine| engine.delete_clone_session(session))
    }

    fn read_clone_sessions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (id, session) in self.with(py, |engine| engine.read_clone_sessions(None)) {
            let content = PyDict::new(py);
            content.set_item("replicas", session.replicas)?;
            content.set_item("class_of_service", session.class_of_service)?;
            content.set_item("packet_length", session.packet_length_bytes)?;
            dict.set_item(id, content)?;
        }
        Ok(dict)
    }
}
