//! The switch of the rack: the program that ships, executed by netkv, with the tables that
//! `netkv/control` fills; or what the paper says that it does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use crate::Architecture;
use netkv_compiled::ExecutorKind;
use netkv_dataplane::{EntryAction, Output, SwitchOptions, TableEntry};
use netkv_ir::{Identity, Match, Program, Value};
use netkv_p4::{Options, compile_file};
use netkv_wire::multiget::COORDINATOR_IP;
use netkv_wire::{Ip, client_ip, mac_of, server_ip};

use crate::common::program::{main_file_of, options};
use crate::splitter::{Host, Splitter};

const CLIENTS_PORT: u16 = 1;
const COORDINATOR_PORT: u16 = 2;
const FIRST_SERVER_PORT: u16 = 100;
const LOOP_PORT: u16 = 508;
const CLIENTS: u16 = 3;

/// Which switch a rack has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Algorithm 2 as the paper has it.
    Paper,
    /// The program of NetMC, or that of NoCache where no switch splits.
    Program(ExecutorKind),
}

pub enum Switch {
    Paper(Splitter),
    Program(Box<Running>),
}

pub struct Running {
    program: Arc<Program>,
    switch: netkv_dataplane::Switch,
    out: Output,
}

impl Switch {
    /// The switch of a rack of so many servers, which are as many as the header's SRV fields.
    pub fn new(kind: Kind, architecture: Architecture, servers: u8) -> Self {
        match kind {
            Kind::Paper => Self::Paper(Splitter { fields: servers, racks: 1 }),
            Kind::Program(executor) => {
                Self::Program(Box::new(Running::new(executor, architecture, servers)))
            }
        }
    }

    /// One frame in; what leaves, and to whom.
    pub fn process(&mut self, frame: &[u8]) -> Vec<(Host, Vec<u8>)> {
        match self {
            Self::Paper(splitter) => splitter.process(frame),
            Self::Program(running) => running.process(frame),
        }
    }
}

impl Running {
    fn new(executor: ExecutorKind, architecture: Architecture, servers: u8) -> Self {
        let splits = architecture == Architecture::NetMc;
        let program = program(splits, servers);
        let options = SwitchOptions::default();
        let switch = netkv_compiled::switch(Arc::clone(&program), options, executor)
            .unwrap_or_else(|error| panic!("{error}"));
        let mut running = Self { program, switch, out: Output::new() };
        let servers = (0..u16::from(servers)).map(|i| (server_ip(i), FIRST_SERVER_PORT + i));
        let clients = (1..=CLIENTS).map(|client| (client_ip(client), CLIENTS_PORT));
        let hosts: Vec<(Ip, u16)> =
            clients.chain([(COORDINATOR_IP, COORDINATOR_PORT)]).chain(servers.clone()).collect();
        for (ip, port) in hosts {
            let names = ["NetkvIngress.route.ipv4", "NetkvIngress.route.forward"];
            running.insert(names, Value::from_bytes(32, &ip), &[port.into()]);
        }
        if splits {
            running.fill(servers.collect());
        }
        running
    }

    /// What splitting takes (`netkv/schemes/netmc/control_plane.py`).
    fn fill(&mut self, servers: Vec<(Ip, u16)>) {
        for (at, (ip, port)) in servers.iter().enumerate() {
            let group = at as u32 + 1;
            self.switch.insert_multicast_group(group, vec![(*port, 0), (LOOP_PORT, 0)]).unwrap();
            let oid = Value::new(8, at as u128 + 1);
            let action = format!("NetkvIngress.addressing.srv_{}", at + 1);
            self.insert(["NetkvIngress.addressing.srv_id", &action], oid, &[]);
            let params = [number(&mac_of(*ip)), number(ip), (*port).into(), group.into()];
            let names = ["NetkvIngress.addressing.addr", "NetkvIngress.addressing.to_server"];
            self.insert(names, Value::new(8, at as u128), &params);
        }
        let names = ["NetkvIngress.splitter_id.splitter_id", "NetkvIngress.splitter_id.split"];
        self.insert(names, Value::new(8, 1), &[]);
    }

    fn process(&mut self, frame: &[u8]) -> Vec<(Host, Vec<u8>)> {
        let port = match frame[26..30] {
            [10, 2, high, low] => FIRST_SERVER_PORT + u16::from_be_bytes([high, low]),
            [10, 0, 0, 2] => COORDINATOR_PORT,
            _ => CLIENTS_PORT,
        };
        self.out.clear();
        self.switch.process(0, port, frame, &mut self.out);
        let host = |port: u16| match port {
            CLIENTS_PORT => Host::Clients,
            COORDINATOR_PORT => Host::Coordinator,
            server => Host::Server(server - FIRST_SERVER_PORT),
        };
        self.out.frames().map(|(port, frame)| (host(port), frame.to_vec())).collect()
    }

    fn insert(&mut self, [table, action]: [&str; 2], key: Value, params: &[u128]) {
        let actions = &self.program.actions;
        let action_id = id_of("action", action, actions.iter().map(|it| &it.identity));
        let action = actions.iter().find(|it| it.identity.id == action_id);
        let widths = action.into_iter().flat_map(|it| &it.params).map(|param| param.width);
        let params = widths.zip(params).map(|(width, value)| Value::new(width, *value)).collect();
        let entry = TableEntry {
            table_id: id_of("table", table, self.program.tables.iter().map(|it| &it.identity)),
            matches: vec![(1, Match::Exact(key))],
            action: EntryAction::Direct { action_id, params },
            priority: 0,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        };
        self.switch.insert_entry(entry).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The program that ships, compiled once for each number of SRV fields.
fn program(splits: bool, servers: u8) -> Arc<Program> {
    type Programs = BTreeMap<(bool, u8), Arc<Program>>;
    static COMPILED: OnceLock<Mutex<Programs>> = OnceLock::new();
    let servers = if splits { servers } else { 0 };
    let mut compiled = COMPILED.get_or_init(Mutex::default).lock().unwrap();
    let compile = || {
        let defines = vec![("NETMC_SERVERS".to_owned(), Some(servers.to_string()))];
        let file = main_file_of(if splits { "netmc" } else { "nocache" });
        let found = compile_file(&file, &Options { defines, ..options() });
        Arc::new(found.unwrap_or_else(|found| panic!("{found}")).program)
    };
    Arc::clone(compiled.entry((splits, servers)).or_insert_with(compile))
}

fn id_of<'a>(what: &str, name: &str, mut all: impl Iterator<Item = &'a Identity>) -> u32 {
    let found = all.find(|identity| identity.name == name);
    found.unwrap_or_else(|| panic!("the program has no {what} '{name}'")).id
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
