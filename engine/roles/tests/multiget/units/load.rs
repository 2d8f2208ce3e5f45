//! Loads over a complete rack, without network delays.

use crate::Architecture;
use netkv_roles::coordimc::{Coordinator, CoordinatorConfig};
use netkv_roles::kits::multiget::{Client, Server, ServerConfig};
use netkv_roles::{Actions, MemoryStore, Nanos, SECOND};
use netkv_roles::{Client as _, Coordinator as _, LoadClient as _, Server as _};
use netkv_wire::multiget::{Addresses, Header, Op, View, owner, write_keys, write_put};
use netkv_wire::server_ip;
use netkv_workload::{Mix, MultigetSize, Random, ValueSize, WorkloadConfig};

use super::*;

#[test]
fn the_load_counts_operations_keys_and_groups() {
    for architecture in ALL {
        let mut rig = Rig::new(architecture, MultigetSize::Fixed(10), Mix::YCSB_C);
        rig.run(300);
        let (counts, own) = (*rig.client.counts(), *rig.client.multiget_counts());
        assert_eq!(own.keys_read, 10 * counts.completed, "{architecture:?}");
        assert_eq!((counts.reads, counts.lost, counts.retries), (counts.completed, 0, 0));
        assert!(counts.completed >= 290);
        let groups = own.groups as f64 / counts.completed as f64;
        let sent = counts.requests as f64 / counts.completed as f64;
        match architecture {
            Architecture::NetMc => assert!(groups > 3.5 && sent < 1.05, "{groups} {sent}"),
            Architecture::CliMc => assert!(groups > 3.5 && sent > 3.5, "{groups} {sent}"),
            Architecture::CoordiMc => assert!(groups < 1.05 && sent < 1.05, "{groups} {sent}"),
        }
        assert_eq!(rig.client.load().stats.latency.len(), counts.completed);
    }
}

#[test]
fn every_written_key_is_read_back_at_the_end() {
    for architecture in ALL {
        let mut rig = Rig::new(architecture, MultigetSize::PRODUCTION, Mix::writes(0.5, 0.3));
        rig.run(500);
        rig.client.load_mut().pause();
        rig.run(1);
        assert_eq!(rig.client.outstanding(), 0);
        let mut out = Actions::new();
        rig.client.verify(rig.now, &mut out);
        rig.carry_out(out);
        rig.run(1);
        let report = rig.client.verified().unwrap();
        assert!(report.checked > 50, "{report:?}");
        assert_eq!((report.acked_writes_lost, report.unread), (0, 0));
        assert_eq!(rig.client.load().judge.history().unwrap().linearizable(), Some(true));
    }
}

/// A complete rack.
struct Rig {
    now: Nanos,
    client: Client,
    coordinator: Coordinator,
    servers: Vec<Server>,
    stores: Vec<MemoryStore>,
    random: Random,
}

impl Rig {
    fn new(architecture: Architecture, size: MultigetSize, mix: Mix) -> Self {
        let layout = layout(5);
        let workload = WorkloadConfig { value_size: ValueSize::Fixed(40), ..workload(size, mix) };
        Self {
            now: SECOND,
            client: client(architecture, layout, load(4), workload),
            coordinator: Coordinator::new(CoordinatorConfig::new(layout)).unwrap(),
            servers: (0..5).map(|i| Server::new(ServerConfig::new(i, layout), 0)).collect(),
            stores: (0..5).map(|_| MemoryStore::new(10_000, workload.value_size)).collect(),
            random: Random::new(1, 1),
        }
    }

    /// Runs a number of operations of the load, and those under way until they end.
    fn run(&mut self, operations: u64) {
        let mut out = Actions::new();
        if self.client.counts().completed == 0 {
            self.client.start(self.now, &mut out);
        }
        self.carry_out_until(out, operations);
    }

    fn carry_out(&mut self, out: Actions) {
        self.carry_out_until(out, u64::MAX);
    }

    fn carry_out_until(&mut self, out: Actions, operations: u64) {
        let mut wire: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
        while !wire.is_empty() {
            if self.client.counts().completed >= operations {
                self.client.load_mut().pause();
            }
            let at = self.random.below(wire.len() as u64) as usize;
            let frame = wire.swap_remove(at);
            let mut out = Actions::new();
            self.now += 1000;
            match frame[30..34] {
                [10, 1, ..] => self.client.on_frame(self.now, &frame, &mut out),
                [10, 0, 0, 2] => self.coordinator.on_frame(self.now, &frame, &mut out),
                [10, 2, _, server] => self.serve(server.into(), &frame, &mut out),
                _ => wire.extend(split(&frame)),
            }
            wire.extend(out.frames().map(<[u8]>::to_vec));
        }
    }

    fn serve(&mut self, server: usize, frame: &[u8], out: &mut Actions) {
        let mut calls = Actions::new();
        self.servers[server].on_frame(self.now, frame, &mut calls);
        for call in calls.calls() {
            let result = self.stores[server].execute(&call);
            self.servers[server].on_stored(self.now, call.id, result, out);
        }
    }
}

/// Splits a request like the switch: into the frames that a NetMC client retransmits for each
/// group.
fn split(frame: &[u8]) -> Vec<Vec<u8>> {
    let view = View::parse(frame, 5).unwrap();
    let keys: Vec<&[u8]> = view.keys().collect();
    let mut start = 0;
    let groups = keys.chunk_by(|one, next| owner(one, 5) == owner(next, 5));
    groups
        .map(|group| {
            let server = server_ip(owner(group[0], 5));
            let addresses =
                Addresses { source: view.source(), destination: server, fields: 5.into() };
            let header =
                Header { startidx: start, numkey: group.len() as u8, rack: 0, ..*view.header() };
            start += group.len() as u8;
            let mut sub_request = Vec::new();
            if header.op == Op::Put {
                write_put(&mut sub_request, &addresses, &header, keys[0], view.value(), None);
            } else {
                write_keys(&mut sub_request, &addresses, &header, keys.iter().copied(), None);
            }
            sub_request
        })
        .collect()
}
