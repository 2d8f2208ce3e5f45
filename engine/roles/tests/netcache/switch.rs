//! The switch of a NetCache rack: `p4/netcache` with the hosts of a test around it, and its tables
//! filled as `netkv/schemes/netcache/control_plane.py` fills them.

use std::collections::BTreeMap;
use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::DigestMessage;
use netkv_ir::{Match, Program, Value};
use netkv_wire::{
    CONTROLLER_IP, CPU_PORT, FrameView, Key, Message, Op, SERVICE_IP, client_ip, partition_range,
    server_ip,
};

use crate::common::frame::Node;
use crate::common::frame_of;
use crate::common::program::program;
use crate::common::rack::RackSwitch;
use crate::common::switch::{Entry, ProgramSwitch, SERVER_PORT};

const CLIENT_PORT: u16 = 1;
/// Clients that have a route; the last one is used by [`Switch::cached`] only.
const CLIENTS: u16 = 9;

const LOOKUP: &str = "NetkvIngress.lookup.cache";
const VERSIONS: &str = "NetkvIngress.validity.version";

pub struct Switch {
    switch: ProgramSwitch,
    servers: u16,
    lookup: BTreeMap<Key, Entry>,
    pub hits: u64,
}

impl RackSwitch for Switch {
    fn new(programs: &[Arc<Program>], executor: ExecutorKind, pipelines: usize) -> Self {
        Self::around(ProgramSwitch::new(Arc::clone(&programs[0]), executor, pipelines), 1)
    }

    fn process(&mut self, bytes: &[u8]) -> Vec<(Node, Vec<u8>)> {
        self.process_one(bytes).into_iter().collect()
    }
}

impl Switch {
    /// The program between clients 1 to 9, these servers and a controller.
    pub fn of(servers: u16) -> Self {
        let program = program("netcache", None);
        Self::around(ProgramSwitch::new(program, ExecutorKind::Interpreter, 1), servers)
    }

    fn around(switch: ProgramSwitch, servers: u16) -> Self {
        let mut switch = Self { switch, servers, lookup: BTreeMap::new(), hits: 0 };
        switch.fill();
        switch
    }

    /// Partition and routes.
    fn fill(&mut self) {
        for server in 0..self.servers {
            let (low, high) = partition_range(server, self.servers);
            let hashes = Match::Range(Value::new(32, low.into()), Value::new(32, high.into()));
            self.switch.own(server, (self.servers > 1).then_some(hashes));
            self.switch.route(&server_ip(server), SERVER_PORT + server);
        }
        for client in 1..=CLIENTS {
            self.switch.route(&client_ip(client), CLIENT_PORT);
        }
        self.switch.route(&CONTROLLER_IP, CPU_PORT);
    }

    /// Power cycle: tables and registers are empty; the controller fills partition and routes.
    pub fn restart(&mut self) {
        self.switch.restart();
        self.lookup.clear();
        self.fill();
    }

    /// Counts all reads; `hot_threshold` of them make an uncached key hot.
    pub fn count_reads(&mut self, hot_threshold: u16) {
        let names = ["NetkvIngress.sampling.settings", "NetkvIngress.sampling.configure"];
        self.switch.set_default(names, &[65_536, hot_threshold.into()]);
    }

    /// Writes a lookup entry.
    pub fn insert(&mut self, key: &Key, entry: Entry) {
        self.insert_in_row(key, entry, entry.slot);
    }

    /// Writes a lookup entry whose cells are in another row than its entry number.
    pub fn insert_in_row(&mut self, key: &Key, entry: Entry, row: usize) {
        self.lookup.insert(*key, entry);
        let Entry { slot, generation, bitmap } = entry;
        let params = [slot as u128, row as u128, bitmap.into(), generation.into()];
        let names = [LOOKUP, "NetkvIngress.lookup.cached"];
        let key = Match::Exact(Value::from_bytes(128, key));
        self.switch.insert(names, Some(key), 0, &params);
    }

    /// Deletes a lookup entry, if there is one.
    pub fn remove(&mut self, key: &Key) -> Option<Entry> {
        let entry = self.lookup.remove(key)?;
        let deleted = self.switch.delete_in(0, LOOKUP, Match::Exact(Value::from_bytes(128, key)));
        assert!(deleted, "the switch has the entry");
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
        self.switch.write_register(VERSIONS, slot as u32, version.into());
    }

    /// The value that a read of `key` would get from the switch now.
    pub fn cached(&mut self, key: &Key) -> Option<Vec<u8>> {
        let (client, hits) = (CLIENTS, self.hits);
        let get = Message::request(client_ip(client), SERVICE_IP, Op::Get, client, 0, *key);
        let (node, bytes) = self.process_one(&frame_of(&get))?;
        self.hits = hits;
        (node == Node::Client).then(|| FrameView::parse(&bytes).unwrap().value().to_vec())
    }

    /// The hot keys that were reported since the last call.
    pub fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.switch.take_digests()
    }

    /// Processes a frame, from the port of its sender. Returns the frames that leave, with their
    /// receivers. `None` if it was dropped.
    pub fn process_one(&mut self, bytes: &[u8]) -> Option<(Node, Vec<u8>)> {
        let port = match bytes[26..30] {
            [10, 0, 0, 1] => CPU_PORT,
            [10, 2, high, low] => SERVER_PORT + u16::from_be_bytes([high, low]),
            _ => CLIENT_PORT,
        };
        let mut left = self.switch.process(port, bytes);
        assert!(left.len() <= 1, "one frame in, at most one out");
        let (port, frame) = left.pop()?;
        let node = match port {
            CPU_PORT => Node::Controller,
            CLIENT_PORT => Node::Client,
            _ => Node::Server(port - SERVER_PORT),
        };
        let hit =
            node == Node::Client && FrameView::parse(&frame).is_ok_and(|frame| frame.cache_hit());
        self.hits += u64::from(hit);
        Some((node, frame))
    }
}
