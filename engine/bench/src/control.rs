//! A control interface of a switch that uses the names of the program.

use std::sync::Arc;

use netkv_dataplane::{CloneSession, ControlError, EntryAction, Output, Switch, TableEntry};
use netkv_ir::{Identity, Match, Program, Value};

use crate::error::BenchError;

/// The control interface of a switch.
pub struct Control<'a> {
    program: Arc<Program>,
    switch: &'a mut Switch,
}

fn position_of<'a>(
    what: &str,
    name: &str,
    mut identities: impl Iterator<Item = &'a Identity>,
) -> Result<usize, BenchError> {
    identities.position(|identity| identity.name == name).ok_or_else(|| {
        BenchError::new(format!(
            "The program has no {what} '{name}', which the benchmark of this path fills: \
             it is not the program that its name says."
        ))
    })
}

impl<'a> Control<'a> {
    /// The control interface of `switch`.
    pub fn new(switch: &'a mut Switch) -> Self {
        Self { program: Arc::clone(switch.program()), switch }
    }

    /// The action's P4Info id, and the values of its parameters with their widths.
    fn action_call(&self, action: &str, params: &[u128]) -> Result<(u32, Vec<Value>), BenchError> {
        let actions = &self.program.actions;
        let action = &actions[position_of("action", action, actions.iter().map(|a| &a.identity))?];
        let values = action.params.iter().zip(params);
        let values = values.map(|(param, value)| Value::new(param.width, *value)).collect();
        Ok((action.identity.id, values))
    }

    fn table(&self, name: &str) -> Result<u32, BenchError> {
        let tables = &self.program.tables;
        Ok(tables[position_of("table", name, tables.iter().map(|t| &t.identity))?].identity.id)
    }

    /// Inserts an entry of a table with one key. `priority` is 0 for exact keys.
    pub fn insert(
        &mut self,
        table: &str,
        key: Match,
        priority: u32,
        action: &str,
        params: &[u128],
    ) -> Result<(), BenchError> {
        let (action_id, params) = self.action_call(action, params)?;
        self.switch.insert_entry(TableEntry {
            table_id: self.table(table)?,
            matches: vec![(1, key)],
            action: EntryAction::Direct { action_id, params },
            priority,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        })?;
        Ok(())
    }

    /// Sets the default action of a table.
    pub fn set_default(
        &mut self,
        table: &str,
        action: &str,
        params: &[u128],
    ) -> Result<(), BenchError> {
        let (action_id, params) = self.action_call(action, params)?;
        let table = self.table(table)?;
        Ok(self.switch.set_default(table, action_id, &params)?)
    }

    /// Creates a clone session with one port.
    pub fn clone_session(&mut self, session: u32, port: u16) -> Result<(), BenchError> {
        let value = CloneSession { replicas: vec![(port, 0)], ..CloneSession::default() };
        Ok(self.switch.insert_clone_session(session, value)?)
    }

    /// Creates a multicast group with a copy to each of these ports.
    pub fn multicast_group(&mut self, group: u32, ports: &[u16]) -> Result<(), BenchError> {
        let replicas = ports.iter().map(|port| (*port, 0)).collect();
        Ok(self.switch.insert_multicast_group(group, replicas)?)
    }

    fn register(&self, name: &str) -> Result<u32, BenchError> {
        let registers = &self.program.registers;
        Ok(registers[position_of("register", name, registers.iter().map(|r| &r.identity))?]
            .identity
            .id)
    }

    /// Writes a cell of a register.
    pub fn write_register(
        &mut self,
        name: &str,
        index: u32,
        value: &Value,
    ) -> Result<(), BenchError> {
        let id = self.register(name)?;
        Ok(self.switch.write_register(id, Some(index), value)?)
    }

    /// The cells of a register (their low 64 bits) or a counter array (packets), summed over the
    /// pipelines.
    pub fn cells(&mut self, name: &str) -> Result<Vec<u64>, BenchError> {
        let counters = &self.program.counters;
        let counter = counters.iter().find(|counter| counter.identity.name == name);
        let counter = counter.map(|counter| counter.identity.id);
        let register = if counter.is_none() { self.register(name)? } else { 0 };
        let mut sums = Vec::new();
        for pipeline in 0..self.switch.pipelines() {
            let read = |switch: &mut Switch| -> Result<Vec<u64>, ControlError> {
                Ok(match counter {
                    Some(id) => {
                        let cells = switch.read_counter(id, None)?;
                        cells.iter().map(|(_, cell)| cell.packets).collect()
                    }
                    None => {
                        let cells = switch.read_register(register, None)?;
                        cells.iter().map(|(_, value)| value.words[0]).collect()
                    }
                })
            };
            let cells = self.switch.in_pipeline(pipeline, read)?;
            sums.resize(cells.len(), 0);
            sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += cell);
        }
        Ok(sums)
    }

    /// Sends a frame to the data plane, as the control plane and servers do. Returns the sent
    /// frames.
    pub fn send(&mut self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut out = Output::new();
        self.switch.process(0, port, frame, &mut out);
        out.frames().map(|(port, frame)| (port, frame.to_vec())).collect()
    }
}
