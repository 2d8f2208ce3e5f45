//! The switch of a FarReach rack: `p4/farreach` in one pipeline or two, with the tables filled as
//! `netkv/schemes/farreach/control_plane.py` fills them.
//!
//! Client 1 is at a port of pipeline 1 (if there are two); client 2, the server and the controller
//! are at ports of pipeline 0.

use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{CloneSession, EntryAction, Output, SwitchOptions, TableEntry, pipeline_of};
use netkv_ir::{Identity, Match, Program, Value};
use netkv_wire::{CONTROLLER_IP, Ip, Key, client_ip, crc32, mac_of, server_ip};

use crate::common::switch::Node;

const SERVER_PORT: u16 = 100;
const CPU_PORT: u16 = 510;
const HOSTS: [(Ip, u16); 4] =
    [(client_ip(1), 1), (client_ip(2), 2), (server_ip(0), SERVER_PORT), (CONTROLLER_IP, CPU_PORT)];

const LOOKUP: &str = "NetkvIngress.lookup.cache";
const PORTS: &str = "NetkvIngress.ingress_pipeline.ports";
const SNAPSHOT: &str = "NetkvIngress.snapshot.snapshot";

/// What a pipeline does about snapshots.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    Idle,
    Redirect,
    Taking(u32),
}

pub struct Switch {
    program: Arc<Program>,
    executor: ExecutorKind,
    switch: netkv_dataplane::Switch,
    out: Output,
}

impl Switch {
    /// A switch with its routes, that has no life yet and lets no request pass.
    pub fn new(program: Arc<Program>, executor: ExecutorKind, pipelines: usize) -> Self {
        let options = SwitchOptions { pipelines, ..SwitchOptions::default() };
        let switch = netkv_compiled::switch(Arc::clone(&program), options, executor)
            .unwrap_or_else(|error| panic!("{error}"));
        let mut switch = Self { program, executor, switch, out: Output::new() };
        switch.fill();
        switch
    }

    fn fill(&mut self) {
        let owner = [number(&mac_of(server_ip(0))), number(&server_ip(0))];
        let names = ["NetkvIngress.partition.owner", "NetkvIngress.partition.to_owner"];
        let all = self.row(names, None, 1, &owner);
        self.insert_row(0..self.pipelines(), &all);
        for (ip, port) in HOSTS {
            let names = ["NetkvIngress.route.ipv4", "NetkvIngress.route.forward"];
            let to = Match::Exact(Value::from_bytes(32, &ip));
            let row = self.row(names, Some(to), 0, &[port.into()]);
            self.insert_row(0..self.pipelines(), &row);
            let names = [PORTS, "NetkvIngress.ingress_pipeline.of_pipeline"];
            let from = Match::Exact(Value::new(9, port.into()));
            let pipeline = pipeline_of(port, self.pipelines());
            let row = self.row(names, Some(from), 0, &[pipeline as u128]);
            self.insert_row(0..self.pipelines(), &row);
            let replicas = vec![(port, 0)];
            let session = CloneSession { replicas, ..CloneSession::default() };
            self.switch.insert_clone_session(port.into(), session).unwrap();
        }
    }

    pub fn pipelines(&self) -> usize {
        self.switch.pipelines()
    }

    /// Power cycle: registers and tables are empty; routes are filled in again.
    pub fn restart(&mut self) {
        *self = Self::new(Arc::clone(&self.program), self.executor, self.pipelines());
    }

    /// Tells all pipelines the life.
    pub fn live(&mut self, life: u32) {
        let names = ["NetkvEgress.incarnation.current", "NetkvEgress.incarnation.set"];
        self.set_default(names[0], names[1], &[life.into()]);
    }

    /// From now on requests pass.
    pub fn open(&mut self) {
        let params = [0, 0xffff, 0, 1];
        let names = ["NetkvIngress.settings.settings", "NetkvIngress.settings.configure"];
        self.set_default(names[0], names[1], &params);
    }

    /// Writes a lookup entry in one ingress pipeline.
    pub fn insert(&mut self, pipeline: usize, key: &Key, entry: u16, generation: u32) {
        let names = [LOOKUP, "NetkvIngress.lookup.cached"];
        let key = Match::Exact(Value::from_bytes(128, key));
        let row = self.row(names, Some(key), 0, &[entry.into(), generation.into()]);
        self.insert_row(pipeline..pipeline + 1, &row);
    }

    /// Deletes a lookup entry in one ingress pipeline.
    pub fn remove(&mut self, pipeline: usize, key: &Key) {
        let matches = [(1, Match::Exact(Value::from_bytes(128, key)))];
        let table = self.table(LOOKUP);
        let delete = |it: &mut netkv_dataplane::Switch| it.delete_entry(table, &matches, 0);
        self.switch.in_pipeline(pipeline, delete).unwrap();
    }

    /// Tells one ingress pipeline what it does about a snapshot.
    pub fn take(&mut self, pipeline: usize, row: Row) {
        let key = Match::Exact(Value::new(8, pipeline as u128));
        let table = self.table(SNAPSHOT);
        let matches = [(1, key.clone())];
        let delete = |it: &mut netkv_dataplane::Switch| it.delete_entry(table, &matches, 0);
        let _ = self.switch.in_pipeline(pipeline, delete); // It was idle if there is none.
        let (action, params) = match row {
            Row::Idle => return,
            Row::Redirect => ("NetkvIngress.snapshot.redirect", vec![]),
            Row::Taking(number) => ("NetkvIngress.snapshot.taking", vec![number.into()]),
        };
        let entry = self.row([SNAPSHOT, action], Some(key), 0, &params);
        self.insert_row(pipeline..pipeline + 1, &entry);
    }

    /// The number that was given last to a write of this key, as many writes would have made it.
    pub fn count_up_to(&mut self, key: &Key, number: u32) {
        let name = "NetkvEgress.sequence.counters";
        let id = id_of("register", name, self.program.registers.iter().map(|it| &it.identity));
        let cell = Some(crc32(key) & 0x7fff);
        let value = Value::new(32, number.into());
        self.switch.write_register(id, cell, &value).unwrap();
    }

    /// One frame, from whom it says; what leaves, and to whom.
    pub fn process(&mut self, bytes: &[u8]) -> Vec<(Node, Vec<u8>)> {
        let host = HOSTS.iter().find(|(ip, _)| bytes[26..30] == *ip);
        let (_, port) = *host.expect("a frame of a host of the rack");
        let frame = match port {
            CPU_PORT => [&[0, 0], bytes].concat(), // packet-out, no port named
            _ => bytes.to_vec(),
        };
        self.out.clear();
        self.switch.process(0, port, &frame, &mut self.out);
        let to = |(port, frame): (u16, &[u8])| match port {
            CPU_PORT => (Node::Controller, frame[2..].to_vec()), // without the packet-in header
            SERVER_PORT => (Node::Server(0), frame.to_vec()),
            _ => (Node::Client, frame.to_vec()),
        };
        self.out.frames().map(to).collect()
    }

    fn set_default(&mut self, table: &str, action: &str, params: &[u128]) {
        let table = self.table(table);
        let (action, params) = self.action(action, params);
        self.switch.set_default(table, action, &params).unwrap();
    }

    fn insert_row(&mut self, pipelines: std::ops::Range<usize>, row: &TableEntry) {
        for pipeline in pipelines {
            let insert = |it: &mut netkv_dataplane::Switch| it.insert_entry(row.clone());
            self.switch.in_pipeline(pipeline, insert).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    fn row(
        &self,
        [table, action]: [&str; 2],
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
    found.unwrap_or_else(|| panic!("p4/farreach has no {what} '{name}'")).id
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
