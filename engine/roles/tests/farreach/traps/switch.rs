//! The switch of a FarReach rack: `p4/farreach` in one pipeline or two, with the tables filled as
//! `netkv/schemes/farreach/control_plane.py` fills them.
//!
//! Client 1 is at a port of pipeline 1 (if there are two); client 2, the server and the controller
//! are at ports of pipeline 0.

use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::pipeline_of;
use netkv_ir::{Match, Program, Value};
use netkv_wire::{CONTROLLER_IP, CPU_PORT, Ip, Key, client_ip, crc32, server_ip};

use crate::common::frame::Node;
use crate::common::rack::RackSwitch;
use crate::common::switch::{ProgramSwitch, SERVER_PORT};

const HOSTS: [(Ip, u16); 4] =
    [(client_ip(1), 1), (client_ip(2), 2), (server_ip(0), SERVER_PORT), (CONTROLLER_IP, CPU_PORT)];

const LOOKUP: &str = "NetkvIngress.lookup.cache";
const PORTS: &str = "NetkvIngress.ingress_pipeline.ports";
const SNAPSHOT: &str = "NetkvIngress.snapshot.snapshot";

/// The snapshot state of a pipeline.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    Idle,
    Redirect,
    Taking(u32),
}

pub struct Switch(ProgramSwitch);

impl RackSwitch for Switch {
    /// A switch with its routes, which has no incarnation yet and drops all requests.
    fn new(programs: &[Arc<Program>], executor: ExecutorKind, pipelines: usize) -> Self {
        let mut switch = Self(ProgramSwitch::new(Arc::clone(&programs[0]), executor, pipelines));
        switch.fill();
        switch
    }

    fn process(&mut self, bytes: &[u8]) -> Vec<(Node, Vec<u8>)> {
        let host = HOSTS.iter().find(|(ip, _)| bytes[26..30] == *ip);
        let (_, port) = *host.expect("a frame of a host of the rack");
        let to = |(port, frame)| match port {
            CPU_PORT => (Node::Controller, frame),
            SERVER_PORT => (Node::Server(0), frame),
            _ => (Node::Client, frame),
        };
        self.0.process(port, bytes).into_iter().map(to).collect()
    }
}

impl Switch {
    fn fill(&mut self) {
        self.0.own(0, None);
        for (ip, port) in HOSTS {
            self.0.route(&ip, port);
            let names = [PORTS, "NetkvIngress.ingress_pipeline.of_pipeline"];
            let from = Match::Exact(Value::new(9, port.into()));
            let pipeline = pipeline_of(port, self.pipelines());
            self.0.insert(names, Some(from), 0, &[pipeline as u128]);
            self.0.insert_clone_session(port);
        }
    }

    pub fn pipelines(&self) -> usize {
        self.0.pipelines()
    }

    /// Power cycle: registers and tables are empty; routes are filled in again.
    pub fn restart(&mut self) {
        self.0.restart();
        self.fill();
    }

    /// Sets the incarnation in all pipelines.
    pub fn set_incarnation(&mut self, incarnation: u32) {
        let names = ["NetkvEgress.incarnation.current", "NetkvEgress.incarnation.set"];
        self.0.set_default(names, &[incarnation.into()]);
    }

    /// Lets requests pass from now on.
    pub fn open(&mut self) {
        let names = ["NetkvIngress.settings.settings", "NetkvIngress.settings.configure"];
        self.0.set_default(names, &[0, 0xffff, 0, 1]);
    }

    /// Writes a lookup entry in one ingress pipeline.
    pub fn insert(&mut self, pipeline: usize, key: &Key, entry: u16, generation: u32) {
        let names = [LOOKUP, "NetkvIngress.lookup.cached"];
        let key = Match::Exact(Value::from_bytes(128, key));
        self.0.insert_in(pipeline, names, key, &[entry.into(), generation.into()]);
    }

    /// Deletes a lookup entry in one ingress pipeline.
    pub fn remove(&mut self, pipeline: usize, key: &Key) {
        let key = Match::Exact(Value::from_bytes(128, key));
        assert!(self.0.delete_in(pipeline, LOOKUP, key), "the pipeline has the entry");
    }

    /// Sets the snapshot state of one ingress pipeline.
    pub fn take(&mut self, pipeline: usize, row: Row) {
        let key = Match::Exact(Value::new(8, pipeline as u128));
        self.0.delete_in(pipeline, SNAPSHOT, key.clone()); // It was idle if there is none.
        match row {
            Row::Idle => {}
            Row::Redirect => {
                let names = [SNAPSHOT, "NetkvIngress.snapshot.redirect"];
                self.0.insert_in(pipeline, names, key, &[]);
            }
            Row::Taking(number) => {
                let names = [SNAPSHOT, "NetkvIngress.snapshot.taking"];
                self.0.insert_in(pipeline, names, key, &[number.into()]);
            }
        }
    }

    /// Sets the number of the last write of this key, as many writes would.
    pub fn count_up_to(&mut self, key: &Key, number: u32) {
        let cell = crc32(key) & 0x7fff;
        self.0.write_register("NetkvEgress.sequence.counters", cell, number.into());
    }
}
