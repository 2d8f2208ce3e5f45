//! A switch that runs a program of `p4/`. Its tables are written by name, as with P4Runtime.

use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{
    CloneSession, DigestMessage, EntryAction, Output, SwitchOptions, TableEntry,
};
use netkv_ir::{Identity, Match, Program, Value};
use netkv_wire::{CPU_PORT, Ip, mac_of, server_ip};

/// The port of server 0; the others follow.
pub const SERVER_PORT: u16 = 100;

/// Table and action of an entry.
pub type Names<'a> = [&'a str; 2];

/// An entry of the lookup table. `slot` is its entry number and the row of its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub slot: usize,
    pub generation: u32,
    pub bitmap: u8,
}

pub struct ProgramSwitch {
    program: Arc<Program>,
    executor: ExecutorKind,
    switch: netkv_dataplane::Switch,
    out: Output,
}

impl ProgramSwitch {
    pub fn new(program: Arc<Program>, executor: ExecutorKind, pipelines: usize) -> Self {
        let options = SwitchOptions { pipelines, ..SwitchOptions::default() };
        let switch = netkv_compiled::switch(Arc::clone(&program), options, executor)
            .unwrap_or_else(|error| panic!("{error}"));
        Self { program, executor, switch, out: Output::new() }
    }

    /// Power cycle: tables and registers are empty.
    pub fn restart(&mut self) {
        *self = Self::new(Arc::clone(&self.program), self.executor, self.pipelines());
    }

    pub fn pipelines(&self) -> usize {
        self.switch.pipelines()
    }

    /// Processes a frame that arrives at a port. Returns the frames that leave, with their ports.
    /// The headers between switch and controller are added and removed here.
    pub fn process(&mut self, port: u16, bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let packet_out: &[u8] = if port == CPU_PORT { &[0, 0] } else { &[] }; // names no port
        self.out.clear();
        self.switch.process(0, port, &[packet_out, bytes].concat(), &mut self.out);
        let frame = |(port, bytes): (u16, &[u8])| {
            let packet_in = if port == CPU_PORT { 2 } else { 0 };
            (port, bytes[packet_in..].to_vec())
        };
        self.out.frames().map(frame).collect()
    }

    pub fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.switch.take_digests()
    }

    // --------------------------------------------------------------------------- tables

    /// Frames to this address leave by this port.
    pub fn route(&mut self, ip: &Ip, port: u16) {
        let names = ["NetkvIngress.route.ipv4", "NetkvIngress.route.forward"];
        self.insert(names, Some(Match::Exact(Value::from_bytes(32, ip))), 0, &[port.into()]);
    }

    /// Requests for keys with these hashes go to this server; all keys if there are none.
    pub fn own(&mut self, server: u16, hashes: Option<Match>) {
        let names = ["NetkvIngress.partition.owner", "NetkvIngress.partition.to_owner"];
        let ip = server_ip(server);
        self.insert(names, hashes, 1, &[number(&mac_of(ip)), number(&ip)]);
    }

    /// Writes an entry in all pipelines. P4Runtime leaves out a match of everything.
    pub fn insert(&mut self, names: Names<'_>, key: Option<Match>, priority: u32, params: &[u128]) {
        let entry = self.entry(names, key, priority, params);
        self.switch.insert_entry(entry).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Writes an entry in one pipeline.
    pub fn insert_in(&mut self, pipeline: usize, names: Names<'_>, key: Match, params: &[u128]) {
        let entry = self.entry(names, Some(key), 0, params);
        let insert = |it: &mut netkv_dataplane::Switch| it.insert_entry(entry);
        self.switch.in_pipeline(pipeline, insert).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Deletes an entry in one pipeline; false if there is none.
    pub fn delete_in(&mut self, pipeline: usize, table: &str, key: Match) -> bool {
        let (table, matches) = (self.table(table), [(1, key)]);
        let delete = |it: &mut netkv_dataplane::Switch| it.delete_entry(table, &matches, 0);
        self.switch.in_pipeline(pipeline, delete).is_ok()
    }

    pub fn set_default(&mut self, [table, action]: Names<'_>, params: &[u128]) {
        let table = self.table(table);
        let (action, params) = self.action(action, params);
        self.switch.set_default(table, action, &params).unwrap();
    }

    pub fn write_register(&mut self, name: &str, cell: u32, value: u128) {
        let registers = &self.program.registers;
        let id = id_of("register", name, registers.iter().map(|it| &it.identity));
        let width = registers.iter().find(|it| it.identity.id == id).map_or(0, |it| it.width);
        self.switch.write_register(id, Some(cell), &Value::new(width, value)).unwrap();
    }

    /// Clones of the session with the number of a port leave by that port.
    pub fn insert_clone_session(&mut self, port: u16) {
        let session = CloneSession { replicas: vec![(port, 0)], ..CloneSession::default() };
        self.switch.insert_clone_session(port.into(), session).unwrap();
    }

    pub fn insert_multicast_group(&mut self, group: u32, ports: &[u16]) {
        let replicas = ports.iter().map(|port| (*port, 0)).collect();
        self.switch.insert_multicast_group(group, replicas).unwrap();
    }

    fn entry(
        &self,
        [table, action]: Names<'_>,
        key: Option<Match>,
        priority: u32,
        params: &[u128],
    ) -> TableEntry {
        let (action_id, params) = self.action(action, params);
        TableEntry {
            table_id: self.table(table),
            matches: key.map(|key| (1, key)).into_iter().collect(),
            action: EntryAction::Direct { action_id, params },
            priority,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        }
    }

    fn table(&self, name: &str) -> u32 {
        id_of("table", name, self.program.tables.iter().map(|it| &it.identity))
    }

    /// P4Info id of an action, and its parameters in their widths.
    fn action(&self, name: &str, params: &[u128]) -> (u32, Vec<Value>) {
        let id = id_of("action", name, self.program.actions.iter().map(|it| &it.identity));
        let action = self.program.actions.iter().find(|it| it.identity.id == id);
        let widths = action.into_iter().flat_map(|it| &it.params).map(|param| param.width);
        (id, widths.zip(params).map(|(width, value)| Value::new(width, *value)).collect())
    }
}

fn id_of<'a>(what: &str, name: &str, mut all: impl Iterator<Item = &'a Identity>) -> u32 {
    let found = all.find(|identity| identity.name == name);
    found.unwrap_or_else(|| panic!("the program has no {what} '{name}'")).id
}

pub fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
