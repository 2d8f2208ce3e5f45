//! The switches of a DistCache rack: `p4/distcache` at the clients, in the upper layer (two
//! switches) and at the server. Their tables are filled as `netkv/schemes/distcache/switches.py`
//! fills them.
//!
//! ```text
//! clients - edge - upper  - leaf - server
//!               `- other -'
//! ```
//!
//! The upper copies of all keys are in `upper`. Writes, and replies to clients, pass `other`, so
//! they do not pass the switch with the upper copy.

use std::collections::VecDeque;
use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_ir::{Match, Program, Value};
use netkv_wire::{CONTROLLER_IP, CPU_PORT, FrameView, Key, Op, client_ip, server_ip};

use crate::common::frame::Node;
use crate::common::rack::RackSwitch;
use crate::common::switch::Entry;
use crate::common::switch::{ProgramSwitch, SERVER_PORT};

/// The programs of clients' switches, of the upper layer, and of the last layer.
pub const PROGRAMS: &[&str] = &["distcache/client", "distcache/spine", "distcache/leaf"];

const LOOKUP: &str = "NetkvIngress.lookup.cache";
/// A load that no other switch has, known since time 0.
const LARGE_LOAD: u128 = 1000;
const CLIENTS: u16 = 4;

// Ports of links; the others are those of hosts.
const CLIENT_PORT: u16 = 1;
const TO_UPPER: u16 = 10;
const TO_OTHER: u16 = 11;
const UP: u16 = 20;
const DOWN: u16 = 21;

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Edge,
    Upper,
    Other,
    Leaf,
}

/// A layer of switches with copies of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Upper,
    Lower,
}

impl Layer {
    pub fn switch(self) -> At {
        match self {
            Self::Upper => At::Upper,
            Self::Lower => At::Leaf,
        }
    }
}

pub struct Switches {
    switches: [ProgramSwitch; 4],
    /// Replies that clients got from the caches of the layers.
    hits: [u64; 2],
    /// Frames with this operation wait before they enter this switch.
    holding: Option<(At, Op)>,
    held: Vec<(At, u16, Vec<u8>)>,
    /// No frame gets from the leaf to the upper switch.
    pub uplink_is_cut: bool,
    /// The upper switch does not run.
    pub upper_is_down: bool,
}

impl RackSwitch for Switches {
    fn new(programs: &[Arc<Program>], executor: ExecutorKind, pipelines: usize) -> Self {
        let of = |at: usize| ProgramSwitch::new(Arc::clone(&programs[at]), executor, pipelines);
        let mut switches = Self {
            switches: [of(0), of(1), of(1), of(2)],
            hits: [0; 2],
            holding: None,
            held: Vec::new(),
            uplink_is_cut: false,
            upper_is_down: false,
        };
        switches.fill_edge(true);
        switches.fill_upper();
        switches.route(At::Other);
        switches.fill_leaf();
        switches
    }

    fn process(&mut self, bytes: &[u8]) -> Vec<(Node, Vec<u8>)> {
        let (at, port) = match bytes[26..30] {
            [10, 0, 0, 1] => (At::Leaf, CPU_PORT),
            [10, 2, high, low] => (At::Leaf, SERVER_PORT + u16::from_be_bytes([high, low])),
            _ => (At::Edge, CLIENT_PORT),
        };
        self.run(at, port, bytes.to_vec())
    }
}

impl Switches {
    fn at(&mut self, at: At) -> &mut ProgramSwitch {
        &mut self.switches[at as usize]
    }

    // --------------------------------------------------------------------------- tables

    /// Owners and addresses of the hosts.
    fn route(&mut self, at: At) {
        let (to_server, to_clients) = match at {
            At::Edge => (TO_OTHER, CLIENT_PORT),
            At::Upper | At::Other => (DOWN, UP),
            At::Leaf => (SERVER_PORT, TO_OTHER),
        };
        let switch = self.at(at);
        switch.own(0, None);
        switch.route(&server_ip(0), to_server);
        for client in 1..=CLIENTS {
            switch.route(&client_ip(client), to_clients);
        }
        switch.route(&CONTROLLER_IP, if at == At::Leaf { CPU_PORT } else { to_server });
    }

    fn fill_edge(&mut self, in_service: bool) {
        self.route(At::Edge);
        let edge = self.at(At::Edge);
        edge.set_default(["NetkvIngress.choice.settings", "NetkvIngress.choice.configure"], &[100]);
        let leaf_of = ["NetkvIngress.choice.servers", "NetkvIngress.choice.at"];
        let server = Match::Exact(Value::from_bytes(32, &server_ip(0)));
        edge.insert(leaf_of, Some(server), 0, &[0]);
        if in_service {
            let control = "NetkvIngress.choice.upper_copy";
            let names = [&*format!("{control}.switches"), &*format!("{control}.towards")];
            edge.insert(names, None, 1, &[TO_UPPER.into(), 0]);
        }
        self.prefer(Layer::Lower);
    }

    fn fill_upper(&mut self) {
        self.route(At::Upper);
        let names = ["NetkvIngress.upper_copy.switches", "NetkvIngress.upper_copy.here"];
        self.at(At::Upper).insert(names, None, 1, &[]);
    }

    fn fill_leaf(&mut self) {
        self.route(At::Leaf);
        let names = ["NetkvIngress.upper_copy.switches", "NetkvIngress.upper_copy.towards"];
        self.at(At::Leaf).insert(names, None, 1, &[TO_UPPER.into(), 0]);
    }

    /// The edge sends reads to this copy: the switch of the other one has a large load.
    pub fn prefer(&mut self, layer: Layer) {
        let loads = match layer {
            Layer::Upper => [("upper", 0), ("last", LARGE_LOAD)],
            Layer::Lower => [("upper", LARGE_LOAD), ("last", 0)],
        };
        for (name, load) in loads {
            let cells = format!("NetkvIngress.choice.{name}_loads.cells");
            self.at(At::Edge).write_register(&cells, 0, load);
        }
    }

    /// The edge sends no reads to the upper copies from now on.
    pub fn exclude_upper(&mut self) {
        self.at(At::Edge).restart();
        self.fill_edge(false);
    }

    /// Power cycle of a switch with a cache: its copies are gone.
    pub fn restart(&mut self, layer: Layer) {
        self.at(layer.switch()).restart();
        match layer {
            Layer::Upper => self.fill_upper(),
            Layer::Lower => self.fill_leaf(),
        }
    }

    /// Writes a lookup entry.
    pub fn insert(&mut self, layer: Layer, key: &Key, entry: Entry) {
        let Entry { slot, generation, bitmap } = entry;
        let params = [slot as u128, slot as u128, bitmap.into(), generation.into()];
        let names = [LOOKUP, "NetkvIngress.lookup.cached"];
        let key = Match::Exact(Value::from_bytes(128, key));
        self.at(layer.switch()).insert(names, Some(key), 0, &params);
    }

    /// Deletes a lookup entry.
    pub fn remove(&mut self, layer: Layer, key: &Key) {
        let key = Match::Exact(Value::from_bytes(128, key));
        let deleted = self.at(layer.switch()).delete_in(0, LOOKUP, key);
        assert!(deleted, "the switch has the entry");
    }

    // --------------------------------------------------------------------------- frames

    pub fn hits(&self, layer: Layer) -> u64 {
        self.hits[layer as usize]
    }

    /// From now on frames with this operation wait before this switch.
    pub fn hold(&mut self, at: At, op: Op) {
        self.holding = Some((at, op));
    }

    /// The frames that wait go on. Returns the frames that leave, with their receivers.
    pub fn release(&mut self) -> Vec<(Node, Vec<u8>)> {
        self.holding = None;
        let held = std::mem::take(&mut self.held);
        held.into_iter().flat_map(|(at, port, bytes)| self.run(at, port, bytes)).collect()
    }

    /// Whether a frame waits.
    pub fn holds_one(&self) -> bool {
        !self.held.is_empty()
    }

    /// Passes a frame from switch to switch, until it leaves to a host.
    fn run(&mut self, at: At, port: u16, bytes: Vec<u8>) -> Vec<(Node, Vec<u8>)> {
        let mut left = Vec::new();
        let mut under_way = VecDeque::from([(at, port, bytes)]);
        while let Some((at, port, bytes)) = under_way.pop_front() {
            let is = |op| FrameView::parse(&bytes).is_ok_and(|frame| frame.op() == op);
            if self.holding.is_some_and(|(switch, op)| switch == at && is(op)) {
                self.held.push((at, port, bytes));
                continue;
            }
            if at == At::Upper && (self.upper_is_down || port == DOWN && self.uplink_is_cut) {
                continue;
            }
            for (port, bytes) in self.at(at).process(port, &bytes) {
                if at == At::Leaf && port == SERVER_PORT {
                    left.push((Node::Server(0), bytes));
                } else if port == CPU_PORT {
                    assert_eq!(at, At::Leaf, "the way to the controller");
                    left.push((Node::Controller, bytes));
                } else if at == At::Edge && port == CLIENT_PORT {
                    left.push((Node::Client, bytes));
                } else {
                    self.count_hit(at, &bytes);
                    let (next, port) = next_hop(at, port);
                    under_way.push_back((next, port, bytes));
                }
            }
        }
        left
    }

    /// Counts a reply of a cache where it leaves it.
    fn count_hit(&mut self, at: At, bytes: &[u8]) {
        let hit = FrameView::parse(bytes).is_ok_and(|frame| frame.cache_hit());
        match at {
            At::Upper if hit => self.hits[Layer::Upper as usize] += 1,
            At::Leaf if hit => self.hits[Layer::Lower as usize] += 1,
            _ => {}
        }
    }
}

/// The switch at the other end of a link, and its port.
fn next_hop(at: At, port: u16) -> (At, u16) {
    match (at, port) {
        (At::Edge, TO_UPPER) => (At::Upper, UP),
        (At::Edge, TO_OTHER) => (At::Other, UP),
        (At::Upper, UP) => (At::Edge, TO_UPPER),
        (At::Upper, DOWN) => (At::Leaf, TO_UPPER),
        (At::Other, UP) => (At::Edge, TO_OTHER),
        (At::Other, DOWN) => (At::Leaf, TO_OTHER),
        (At::Leaf, TO_UPPER) => (At::Upper, DOWN),
        (At::Leaf, TO_OTHER) => (At::Other, DOWN),
        _ => panic!("no link at port {port} of {at:?}"),
    }
}
