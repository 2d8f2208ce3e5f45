//! Clients and a server that speak memcached's protocol, connected by the test.

mod conditional;

use netkv_roles::registry::{ClientRole, ServerRole};
use netkv_roles::{
    Actions, Applied, ClientConfig, ClientOptions, ClientStats, Keyspace, LoadClient, MILLISECOND,
    MemoryStore, Nanos, Server, ServerOptions,
};
use netkv_wire::memcached::{CLIENT_PORT, Opcode, Reply, Request, status};
use netkv_wire::{client_ip, server_ip};
use netkv_workload::{Arrivals, Mix, Popularity, ValueSize, Workload, WorkloadConfig, key_of};

const KEYSPACE: Keyspace = Keyspace::of_a_rack(1);
const DEADLINE: Nanos = 100 * MILLISECOND;

struct Rack {
    client: Box<dyn LoadClient>,
    server: Box<dyn Server>,
    store: MemoryStore,
}

impl Rack {
    fn new(mix: Mix) -> Self {
        Self::with_conditional(mix, 0.0)
    }

    /// With this share of the writes conditional.
    fn with_conditional(mix: Mix, conditional: f64) -> Self {
        let workload = WorkloadConfig {
            conditional,
            popularity: Popularity::Uniform,
            value_size: ValueSize::Fixed(32),
            ..WorkloadConfig::new(4, mix, 1)
        };
        let load = ClientConfig {
            deadline: DEADLINE,
            ..ClientConfig::new(2, Arrivals::Closed { outstanding: 1 })
        };
        let options = ClientOptions { load, keyspace: KEYSPACE };
        let client = ClientRole::named("memcached").unwrap();
        Self {
            client: (client.load)(&options, Workload::new(workload).unwrap()).unwrap(),
            server: server(1, &Applied::default()),
            store: MemoryStore::new(4, ValueSize::Fixed(32)),
        }
    }

    fn start(&mut self) -> Vec<Vec<u8>> {
        let mut out = Actions::new();
        self.client.start(0, &mut out);
        out.frames().map(<[u8]>::to_vec).collect()
    }

    fn poll(&mut self, now: Nanos) -> Vec<Vec<u8>> {
        let mut out = Actions::new();
        self.client.poll(now, &mut out);
        out.frames().map(<[u8]>::to_vec).collect()
    }

    /// The frames with which the client reacts to a frame.
    fn give_client(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Actions::new();
        self.client.on_frame(1, frame, &mut out);
        out.frames().map(<[u8]>::to_vec).collect()
    }

    /// The server's replies to a frame.
    fn give_server(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Actions::new();
        self.server.on_frame(1, frame, &mut out);
        let mut replies: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
        while !out.is_empty() {
            let mut after = Actions::new();
            for call in out.calls() {
                let result = self.store.execute(&call);
                self.server.on_stored(1, call.id, result, &mut after);
            }
            replies.extend(after.frames().map(<[u8]>::to_vec));
            out = after;
        }
        replies
    }

    fn counts(&mut self) -> ClientStats {
        let mut stats = ClientStats::default();
        self.client.take_stats(&mut stats);
        stats
    }

    /// Restarts the server; only its store is kept.
    fn restart(&mut self) {
        self.server = server(2, self.store.applied());
    }
}

fn server(first_request: u32, applied: &Applied) -> Box<dyn Server> {
    let options = ServerOptions {
        server: 0,
        keyspace: KEYSPACE,
        first_request,
        epoch: 0,
        service_rate: None,
        service_queue: 16,
    };
    (ServerRole::named("memcached").unwrap().restore)(&options, 0, applied).unwrap()
}

fn request(opcode: Opcode, opaque: u32, value: &[u8]) -> Vec<u8> {
    conditional(opcode, opaque, value, 0)
}

/// A request that takes effect only if the item has version `cas`.
fn conditional(opcode: Opcode, opaque: u32, value: &[u8], cas: u64) -> Vec<u8> {
    let mut frame = Vec::new();
    let (source, key) = (client_ip(1), key_of(2));
    let (id, destination, source_port) = (opaque as u16, server_ip(0), CLIENT_PORT);
    let request =
        Request { source, source_port, destination, opcode, id, opaque, cas, key: &key, value };
    request.write(&mut frame);
    frame
}

#[test]
fn load_is_answered_and_linearizable() {
    let mut rack = Rack::new(Mix { read: 0.5, update: 0.4, delete: 0.1, ..Mix::YCSB_C });
    let mut frames = rack.start();
    for _ in 0..2000 {
        let request = frames.pop().expect("one request is always outstanding");
        let replies = rack.give_server(&request);
        assert_eq!(replies.len(), 1);
        frames = rack.give_client(&replies[0]);
    }
    let counts = rack.counts().counts;
    assert_eq!((counts.completed, counts.malformed, counts.errors), (2000, 0, 0));
    assert!(counts.reads > 500 && counts.writes > 500 && counts.not_found > 0);
    assert_eq!(rack.client.load().judge.history().unwrap().violations, 0);
}

#[test]
fn requests_are_sent_once_and_given_up_at_their_deadline() {
    let mut rack = Rack::new(Mix::YCSB_C);
    assert_eq!(rack.start().len(), 1);
    assert!(rack.poll(DEADLINE - 1).is_empty());
    assert_eq!(rack.poll(DEADLINE).len(), 1, "the next operation");
    let counts = rack.counts().counts;
    assert_eq!((counts.lost, counts.retries), (1, 0));
}

#[test]
fn reads_of_the_verification_are_sent_again() {
    let mut rack = Rack::new(Mix { read: 0.0, update: 1.0, ..Mix::YCSB_C });
    let write = rack.start().pop().expect("one request is always outstanding");
    rack.client.load_mut().pause();
    let replies = rack.give_server(&write);
    assert!(rack.give_client(&replies[0]).is_empty());
    let mut out = Actions::new();
    rack.client.verify(2, &mut out);
    let read: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    assert_eq!(read.len(), 1);
    assert_eq!(rack.poll(DEADLINE).len(), 0);
    assert_eq!(rack.poll(2 + 500 * MILLISECOND), read, "the server may have refused it");
    let replies = rack.give_server(&read[0]);
    rack.give_client(&replies[0]);
    let report = rack.client.verified().expect("it has ended");
    assert_eq!((report.checked, report.unread), (1, 0));
}

#[test]
fn copy_of_a_write_has_no_effect_and_no_answer() {
    let mut rack = Rack::new(Mix::YCSB_C);
    let (first, second) = (request(Opcode::Set, 1, b"first"), request(Opcode::Set, 2, b"second"));
    assert_eq!(rack.give_server(&first).len(), 1);
    assert_eq!(rack.give_server(&second).len(), 1);
    assert!(rack.give_server(&first).is_empty());
    rack.restart();
    assert!(rack.give_server(&first).is_empty(), "the store remembers it");
    let replies = rack.give_server(&request(Opcode::Get, 3, b""));
    assert_eq!(Reply::parse(&replies[0]).unwrap().value, b"second");
}

#[test]
fn each_write_has_a_newer_version_than_those_before() {
    let mut rack = Rack::new(Mix::YCSB_C);
    let mut versions = Vec::new();
    for opaque in 1..5 {
        let replies = rack.give_server(&request(Opcode::Set, opaque, b"value"));
        let reply = Reply::parse(&replies[0]).unwrap();
        assert_eq!((reply.status, reply.opaque), (status::OK, opaque));
        versions.push(reply.cas);
    }
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    let replies = rack.give_server(&request(Opcode::Get, 9, b""));
    assert_eq!(Reply::parse(&replies[0]).unwrap().cas, versions[3]);
    assert_eq!(rack.give_server(&request(Opcode::Delete, 10, b"")).len(), 1);
    let replies = rack.give_server(&request(Opcode::Get, 11, b""));
    assert_eq!(Reply::parse(&replies[0]).unwrap().status, status::NOT_FOUND);
}

#[test]
fn malformed_frames_are_counted_only() {
    let mut rack = Rack::new(Mix::YCSB_C);
    let good = request(Opcode::Set, 1, b"value");
    for length in 0..good.len() {
        assert!(rack.give_server(&good[..length]).is_empty());
    }
    let malformed = rack.server.counts().into_iter().find(|(name, _)| *name == "malformed");
    assert_eq!(malformed.unwrap().1, good.len() as u64);
}
