//! The switch of the rack: the shipped program, executed by netkv, with the tables that
//! `netkv/control` fills, or the algorithm of the paper.

use crate::Architecture;
use netkv_compiled::ExecutorKind;
use netkv_ir::{Match, Value};
use netkv_wire::multiget::COORDINATOR_IP;
use netkv_wire::{client_ip, mac_of, server_ip};

use crate::common::program::{program, program_with};
use crate::common::switch::{ProgramSwitch, SERVER_PORT, number};
use crate::splitter::{Host, Splitter};

const CLIENTS_PORT: u16 = 1;
const COORDINATOR_PORT: u16 = 2;
const LOOP_PORT: u16 = 508;
const CLIENTS: u16 = 3;

/// Which switch a rack has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Algorithm 2 of the paper.
    Paper,
    /// The program of NetMC, or the one that only forwards if no switch splits.
    Program(ExecutorKind),
}

pub enum Switch {
    Paper(Splitter),
    Program(Box<ProgramSwitch>),
}

impl Switch {
    /// The switch of a rack; the header has as many SRV fields as there are servers.
    pub fn new(kind: Kind, architecture: Architecture, servers: u8) -> Self {
        match kind {
            Kind::Paper => Self::Paper(Splitter { fields: servers, racks: 1 }),
            Kind::Program(executor) => {
                Self::Program(Box::new(running(executor, architecture, servers)))
            }
        }
    }

    /// Processes a frame. Returns the frames that leave, with their receivers.
    pub fn process(&mut self, frame: &[u8]) -> Vec<(Host, Vec<u8>)> {
        let switch = match self {
            Self::Paper(splitter) => return splitter.process(frame),
            Self::Program(switch) => switch,
        };
        let port = match frame[26..30] {
            [10, 2, high, low] => SERVER_PORT + u16::from_be_bytes([high, low]),
            [10, 0, 0, 2] => COORDINATOR_PORT,
            _ => CLIENTS_PORT,
        };
        let host = |port: u16| match port {
            CLIENTS_PORT => Host::Clients,
            COORDINATOR_PORT => Host::Coordinator,
            server => Host::Server(server - SERVER_PORT),
        };
        let left = switch.process(port, frame).into_iter();
        left.map(|(port, frame)| (host(port), frame)).collect()
    }
}

/// The shipped program with its routes, and with the tables for splitting if the switch splits.
fn running(executor: ExecutorKind, architecture: Architecture, servers: u8) -> ProgramSwitch {
    let splits = architecture == Architecture::NetMc;
    let program = match splits {
        true => program_with("netmc", ("NETMC_SERVERS", servers)),
        false => program("forwarding", None),
    };
    let mut switch = ProgramSwitch::new(program, executor, 1);
    for client in 1..=CLIENTS {
        switch.route(&client_ip(client), CLIENTS_PORT);
    }
    switch.route(&COORDINATOR_IP, COORDINATOR_PORT);
    for server in 0..u16::from(servers) {
        let (ip, port) = (server_ip(server), SERVER_PORT + server);
        switch.route(&ip, port);
        if splits {
            fill(&mut switch, server, [number(&mac_of(ip)), number(&ip), port.into()]);
        }
    }
    if splits {
        let names = ["NetkvIngress.splitter_id.splitter_id", "NetkvIngress.splitter_id.split"];
        switch.insert(names, Some(Match::Exact(Value::new(8, 1))), 0, &[]);
    }
    switch
}

/// Fills the tables for splitting for a server (see `netkv/schemes/netmc/control_plane.py`).
fn fill(switch: &mut ProgramSwitch, server: u16, [mac, ip, port]: [u128; 3]) {
    let oid = u128::from(server) + 1;
    switch.insert_multicast_group(oid as u32, &[port as u16, LOOP_PORT]);
    let key = |number| Some(Match::Exact(Value::new(8, number)));
    let action = format!("NetkvIngress.addressing.srv_{oid}");
    switch.insert(["NetkvIngress.addressing.srv_id", &action], key(oid), 0, &[]);
    let names = ["NetkvIngress.addressing.addr", "NetkvIngress.addressing.to_server"];
    switch.insert(names, key(server.into()), 0, &[mac, ip, port, oid]);
}
