//! The servers' handling of requests.

use netkv_roles::Server as _;
use netkv_roles::kits::multiget::{Layout, Server, ServerConfig};
use netkv_roles::{Actions, MILLISECOND, MemoryStore, StoreOp, StoreResult};
use netkv_wire::multiget::{
    Addresses, Answer, COORDINATOR_IP, Header, OnBehalf, Op, View, group, write_keys, write_put,
};
use netkv_wire::{Ip, Sequence, client_ip, server_ip};
use netkv_workload::{ValueSize, key_of_wire, wire_key};

use super::*;

fn server() -> Server {
    Server::new(ServerConfig::new(1, layout(FIELDS.into())), 0)
}

fn request(op: Op, number: u32, keys: &[Vec<u8>]) -> Vec<u8> {
    request_from(client_ip(1), op, number, keys, None)
}

fn request_from(
    source: Ip,
    op: Op,
    number: u32,
    keys: &[Vec<u8>],
    on_behalf: Option<OnBehalf>,
) -> Vec<u8> {
    let addresses = Addresses { source, destination: server_ip(1), fields: FIELDS.into() };
    let header = Header::request(op, number, keys.len() as u8, &group(keys.iter().map(|_| 1)));
    let mut frame = Vec::new();
    if op == Op::Put {
        write_put(&mut frame, &addresses, &header, &keys[0], b"value", on_behalf);
    } else {
        write_keys(&mut frame, &addresses, &header, keys.iter().map(Vec::as_slice), on_behalf);
    }
    frame
}

#[test]
fn a_read_is_one_batch_of_storage_calls_and_one_reply() {
    let keys = keys_on(&[1, 1, 1], 4);
    let mut server = server();
    let mut out = Actions::new();
    server.on_frame(0, &request(Op::Mget, 5, &keys), &mut out);
    let calls: Vec<u32> = out.calls().map(|call| call.id).collect();
    for (call, key) in out.calls().zip(&keys) {
        assert_eq!((call.op, call.name), (StoreOp::Get, key.as_slice()));
        assert_eq!((call.key, call.origin), (key_of_wire(key, 16), None));
    }
    assert_eq!((calls.len(), out.frames().len()), (3, 0));
    // The store answers in any order.
    for at in [2, 0, 1] {
        let mut out = Actions::new();
        let value = StoreResult::Value(&keys[at], Default::default());
        let result = if at == 0 { StoreResult::NotFound(Default::default()) } else { value };
        server.on_stored(1, calls[at], result, &mut out);
        assert_eq!(out.frames().len(), usize::from(at == 1));
        if let Some(frame) = out.frames().next() {
            let view = View::parse(frame, FIELDS).unwrap();
            let entries: Vec<_> = view.entries().map(|it| (it.key, it.found, it.value)).collect();
            assert_eq!(entries[0], (keys[0].as_slice(), false, &b""[..]));
            assert_eq!(entries[2], (keys[2].as_slice(), true, keys[2].as_slice()));
            assert_eq!((view.source(), view.destination()), (server_ip(1), client_ip(1)));
            assert_eq!((view.header().id, view.header().numkey), (5, 3));
        }
    }
    assert_eq!((server.stats().reads, server.keys_read()), (1, 3));
}

#[test]
fn frames_for_others_are_counted_and_have_no_effect() {
    let mut server = server();
    let mut out = Actions::new();
    let strange = keys_on(&[1, 2], 4);
    server.on_frame(0, &request(Op::Mget, 1, &strange), &mut out);
    server.on_frame(0, &request(Op::Put, 2, &strange[1..]), &mut out);
    assert_eq!(server.stats().wrong_partition, 2);
    let own = &strange[..1];
    server.on_frame(0, &request(Op::Put, 3, own)[..60], &mut out);
    assert_eq!(server.stats().malformed, 1);
    // A coordinator must name the client of a write, and writes of unknown hosts are ignored.
    server.on_frame(0, &request_from(COORDINATOR_IP, Op::Put, 4, own, None), &mut out);
    server.on_frame(0, &request_from([10, 9, 9, 9], Op::Delete, 5, own, None), &mut out);
    assert_eq!((server.stats().unexpected, out.is_empty()), (2, true));
    let on_behalf = Some(OnBehalf { client: 9, request: 77 });
    server.on_frame(0, &request_from(COORDINATOR_IP, Op::Put, 4, own, on_behalf), &mut out);
    let origin = out.calls().next().unwrap().origin.unwrap();
    assert_eq!((origin.sender, origin.request), (9, 77), "the client's, not the coordinator's");
}

#[test]
fn a_server_refuses_reads_and_writes_beyond_its_limits() {
    let keys = keys_on(&[1; 4], 4);
    let config = ServerConfig {
        max_reading: 7,
        max_waiting: 2,
        ..ServerConfig::new(1, layout(FIELDS.into()))
    };
    let mut server = Server::new(config, 0);
    let mut out = Actions::new();
    server.on_frame(0, &request(Op::Mget, 1, &keys), &mut out);
    server.on_frame(0, &request(Op::Mget, 2, &keys), &mut out);
    let answer = |frame: &[u8]| {
        let view = View::parse(frame, FIELDS).unwrap();
        (view.header().id, view.answer())
    };
    assert_eq!(out.frames().map(answer).collect::<Vec<_>>(), [(2, Answer::Overloaded)]);
    out.clear();
    for number in 3..=6 {
        server.on_frame(0, &request(Op::Put, number, &keys[..1]), &mut out);
    }
    assert_eq!(out.frames().map(answer).collect::<Vec<_>>(), [(6, Answer::Overloaded)]);
    assert_eq!((server.stats().overloaded, server.busy_keys()), (2, 1));
}

#[test]
fn an_emulated_server_serves_its_rate_and_drops_the_rest() {
    let keys = keys_on(&[1], 4);
    let config = ServerConfig {
        service_rate: Some(1000.0),
        service_queue: 10,
        ..ServerConfig::new(1, layout(FIELDS.into()))
    };
    let mut server = Server::new(config, 0);
    let mut out = Actions::new();
    (0..30).for_each(|number| server.on_frame(0, &request(Op::Mget, number, &keys), &mut out));
    assert_eq!((out.calls().len(), server.stats().dropped), (1, 19));
    server.on_timer(5 * MILLISECOND, &mut out);
    assert_eq!((out.calls().len(), server.deadline()), (6, Some(6 * MILLISECOND)));
    assert!(server.slow(2.0));
    server.on_timer(100 * MILLISECOND, &mut out);
    assert_eq!(out.calls().len(), 11);
}

#[test]
fn copies_of_requests_that_wait_are_ignored() {
    let keys = keys_on(&[1, 1], 4);
    let config = ServerConfig {
        service_rate: Some(1000.0),
        service_queue: 3,
        ..ServerConfig::new(1, layout(FIELDS.into()))
    };
    let mut server = Server::new(config, 0);
    let mut out = Actions::new();
    for _ in 0..30 {
        server.on_frame(0, &request(Op::Mget, 1, &keys), &mut out);
        server.on_frame(0, &request(Op::Mget, 2, &keys), &mut out);
        server.on_frame(0, &request(Op::Put, 3, &keys[..1]), &mut out);
    }
    assert_eq!((server.stats().dropped, server.stats().duplicates), (0, 87));
    server.on_timer(SECOND, &mut out);
    let stats = server.stats();
    assert_eq!((stats.served, stats.reads, stats.writes, out.calls().len()), (3, 2, 1, 5));
    // The first read starts at once, but its store is slow.
    let calls: Vec<u32> = out.calls().map(|call| call.id).collect();
    server.on_frame(2 * SECOND, &request(Op::Mget, 1, &keys), &mut out);
    assert_eq!(server.stats().served, 3);
    for call in &calls[..2] {
        server.on_stored(
            3 * SECOND,
            *call,
            StoreResult::Value(b"v", Sequence::default()),
            &mut out,
        );
    }
    // The read took three seconds, so copies are ignored for three more seconds.
    server.on_frame(6 * SECOND - 1, &request(Op::Mget, 1, &keys), &mut out);
    assert_eq!(server.stats().served, 3);
    server.on_frame(6 * SECOND, &request(Op::Mget, 1, &keys), &mut out);
    assert_eq!((server.stats().served, server.stats().duplicates), (4, 89));
}

#[test]
fn a_refused_request_may_be_retried_at_once() {
    let keys = keys_on(&[1, 1], 4);
    let config = ServerConfig { max_reading: 2, ..ServerConfig::new(1, layout(FIELDS.into())) };
    let mut server = Server::new(config, 0);
    let mut out = Actions::new();
    server.on_frame(0, &request(Op::Mget, 1, &keys), &mut out);
    server.on_frame(0, &request(Op::Mget, 2, &keys), &mut out);
    assert_eq!((server.stats().served, server.stats().overloaded), (1, 1));
    let calls: Vec<u32> = out.calls().map(|call| call.id).collect();
    for call in calls {
        server.on_stored(5, call, StoreResult::NotFound(Sequence::default()), &mut out);
    }
    server.on_frame(5, &request(Op::Mget, 2, &keys), &mut out);
    assert_eq!(server.stats().served, 2);
}

#[test]
fn keys_of_the_keyspace_reach_stores_under_their_name() {
    for size in [4, 15, 16, 64] {
        let layout = Layout::one_rack(1, size);
        let mut server = Server::new(ServerConfig::new(0, layout), 0);
        let name = wire_key(5, size);
        let addresses =
            Addresses { source: client_ip(1), destination: server_ip(0), fields: 1.into() };
        let header = Header::request(Op::Get, 1, 1, &group([0]));
        let (mut frame, mut out) = (Vec::new(), Actions::new());
        write_keys(&mut frame, &addresses, &header, [name.as_bytes()], None);
        server.on_frame(0, &frame, &mut out);
        let call = out.calls().next().unwrap();
        assert_eq!((call.name, call.key), (name.as_bytes(), netkv_workload::key_of(5)));
        let mut store = MemoryStore::new(10, ValueSize::Fixed(64));
        assert!(matches!(store.execute(&call), StoreResult::Value(value, _) if value.len() == 64));
    }
}
