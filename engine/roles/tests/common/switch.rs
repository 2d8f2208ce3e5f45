//! The switch: the real program, executed by netkv's data plane, with the hosts of a test around
//! it. The tables are filled as `netkv/control` fills them.

use std::collections::BTreeMap;
use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{DigestMessage, EntryAction, Output, SwitchOptions, TableEntry};
use netkv_ir::{Identity, Match, Program, Value};
use netkv_wire::{
    CONTROLLER_IP, FrameView, Ip, Key, Message, Op, SERVICE_IP, client_ip, mac_of, partition_range,
    server_ip,
};

use super::{frame_of, program};

const CLIENT_PORT: u16 = 1;
const FIRST_SERVER_PORT: u16 = 100;
const CPU_PORT: u16 = 510;
/// Clients that have a route; the last one belongs to nobody (see [`Switch::cached`]).
const CLIENTS: u16 = 9;

const LOOKUP: &str = "NetkvIngress.lookup.cache";
const VERSIONS: &str = "NetkvIngress.validity.version";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    Client,
    Server(u16),
    Controller,
    Switch,
}

/// An entry of the lookup table. `slot` is its entry number and the row of its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub slot: usize,
    pub generation: u32,
    pub bitmap: u8,
}

pub struct Switch {
    program: Arc<Program>,
    executor: ExecutorKind,
    servers: u16,
    switch: netkv_dataplane::Switch,
    lookup: BTreeMap<Key, Entry>,
    out: Output,
    pub hits: u64,
}

impl Switch {
    /// The program of NetCache between clients 1 to 9, so many servers and a controller.
    pub fn new(servers: u16) -> Self {
        Self::with_program(servers, program::shipped(), ExecutorKind::Interpreter)
    }

    pub fn with_program(servers: u16, program: Arc<Program>, executor: ExecutorKind) -> Self {
        let options = SwitchOptions::default();
        let switch = netkv_compiled::switch(Arc::clone(&program), options, executor)
            .unwrap_or_else(|error| panic!("{error}"));
        let (lookup, out) = (BTreeMap::new(), Output::new());
        let mut switch = Self { program, executor, servers, switch, lookup, out, hits: 0 };
        switch.fill();
        switch
    }

    /// Partition and routes.
    fn fill(&mut self) {
        for server in 0..self.servers {
            let (low, high) = partition_range(server, self.servers);
            let hashes = Match::Range(Value::new(32, low.into()), Value::new(32, high.into()));
            // P4Runtime leaves out a match of everything.
            let hashes = (self.servers > 1).then_some(hashes);
            let params = [number(&mac_of(server_ip(server))), number(&server_ip(server))];
            let names = ["NetkvIngress.partition.owner", "NetkvIngress.partition.to_owner"];
            self.insert_entry(names, hashes, 1, &params);
        }
        let clients = (1..=CLIENTS).map(|client| (client_ip(client), CLIENT_PORT));
        let servers = (0..self.servers).map(|i| (server_ip(i), FIRST_SERVER_PORT + i));
        let hosts: Vec<(Ip, u16)> =
            clients.chain(servers).chain([(CONTROLLER_IP, CPU_PORT)]).collect();
        for (ip, port) in hosts {
            let names = ["NetkvIngress.route.ipv4", "NetkvIngress.route.forward"];
            let ip = Match::Exact(Value::from_bytes(32, &ip));
            self.insert_entry(names, Some(ip), 0, &[port.into()]);
        }
    }

    /// Power cycle: tables and registers are empty; the controller fills partition and routes.
    pub fn restart(&mut self) {
        let program = Arc::clone(&self.program);
        *self =
            Self { hits: self.hits, ..Self::with_program(self.servers, program, self.executor) };
    }

    /// Counts all reads; so many make an uncached key hot.
    pub fn count_reads(&mut self, hot_threshold: u16) {
        let table = self.table("NetkvIngress.sampling.settings");
        let params = [65_536, hot_threshold.into()];
        let (action, params) = self.action("NetkvIngress.sampling.configure", &params);
        self.switch.set_default(table, action, &params).unwrap();
    }

    /// Writes a lookup entry.
    pub fn insert(&mut self, key: &Key, entry: Entry) {
        self.insert_in_row(key, entry, entry.slot);
    }

    /// Writes a lookup entry whose cells are in another row than its number says.
    pub fn insert_in_row(&mut self, key: &Key, entry: Entry, row: usize) {
        self.lookup.insert(*key, entry);
        let Entry { slot, generation, bitmap } = entry;
        let params = [slot as u128, row as u128, bitmap.into(), generation.into()];
        let names = [LOOKUP, "NetkvIngress.lookup.cached"];
        let key = Match::Exact(Value::from_bytes(128, key));
        self.insert_entry(names, Some(key), 0, &params);
    }

    /// Deletes a lookup entry, if there is one.
    pub fn remove(&mut self, key: &Key) -> Option<Entry> {
        let entry = self.lookup.remove(key)?;
        let matches = [(1, Match::Exact(Value::from_bytes(128, key)))];
        self.switch.delete_entry(self.table(LOOKUP), &matches, 0).unwrap();
        Some(entry)
    }

    /// The keys that have a lookup entry.
    pub fn keys(&self) -> Vec<Key> {
        self.lookup.keys().copied().collect()
    }

    pub fn entry(&self, key: &Key) -> Option<Entry> {
        self.lookup.get(key).copied()
    }

    /// Sets the version of an entry, as many writes would.
    pub fn set_version(&mut self, slot: usize, version: u32) {
        let mut registers = self.program.registers.iter();
        let id = id_of("register", VERSIONS, registers.by_ref().map(|it| &it.identity));
        let version = Value::new(32, version.into());
        self.switch.write_register(id, Some(slot as u32), &version).unwrap();
    }

    /// The value that a read of `key` would get from the switch now.
    pub fn cached(&mut self, key: &Key) -> Option<Vec<u8>> {
        let (client, hits) = (CLIENTS, self.hits);
        let get = Message::request(client_ip(client), SERVICE_IP, Op::Get, client, 0, *key);
        let (node, bytes) = self.process(&frame_of(&get))?;
        self.hits = hits;
        (node == Node::Client).then(|| FrameView::parse(&bytes).unwrap().value().to_vec())
    }

    /// The hot keys that were reported since the last call.
    pub fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.switch.take_digests()
    }

    /// One frame, from whom it says; what leaves, and to whom. `None` if it was dropped.
    pub fn process(&mut self, bytes: &[u8]) -> Option<(Node, Vec<u8>)> {
        let source = &bytes[26..30];
        let (port, frame) = match source {
            [10, 0, 0, 1] => (CPU_PORT, [&[0, 0], bytes].concat()), // packet-out, no port named
            [10, 2, high, low] => {
                (FIRST_SERVER_PORT + u16::from_be_bytes([*high, *low]), bytes.to_vec())
            }
            _ => (CLIENT_PORT, bytes.to_vec()),
        };
        self.out.clear();
        self.switch.process(0, port, &frame, &mut self.out);
        assert!(self.out.len() <= 1, "one frame in, at most one out");
        let (port, frame) = self.out.frames().next()?;
        Some(match port {
            CPU_PORT => (Node::Controller, frame[2..].to_vec()), // without the packet-in header
            CLIENT_PORT => {
                let hit = FrameView::parse(frame).is_ok_and(|frame| frame.cache_hit());
                self.hits += u64::from(hit);
                (Node::Client, frame.to_vec())
            }
            _ => (Node::Server(port - FIRST_SERVER_PORT), frame.to_vec()),
        })
    }

    fn insert_entry(
        &mut self,
        [table, action]: [&str; 2],
        key: Option<Match>,
        priority: u32,
        params: &[u128],
    ) {
        let (action_id, params) = self.action(action, params);
        let entry = TableEntry {
            table_id: self.table(table),
            matches: key.map(|key| (1, key)).into_iter().collect(),
            action: EntryAction::Direct { action_id, params },
            priority,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        };
        self.switch.insert_entry(entry).unwrap_or_else(|error| panic!("{error}"));
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
    found.unwrap_or_else(|| panic!("p4/netcache has no {what} '{name}'")).id
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
