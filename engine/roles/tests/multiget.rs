//! Clients, servers and coordinator of multigets one by one: the frames that they send, what they
//! count, and what they refuse.

use netkv_roles::multiget::{
    Architecture, Client, ClientConfig, Coordinator, CoordinatorConfig, Layout, Server,
    ServerConfig,
};
use netkv_roles::{
    Actions, Backoff, Completion, MILLISECOND, MemoryStore, Nanos, Outcome, SECOND, StoreOp,
    StoreResult, UserOp,
};
use netkv_wire::multiget::{
    Addresses, Answer, COORDINATOR_IP, Header, OnBehalf, Op, ReplyWriter, View, group, owner,
    splitter_ip, write_keys, write_put,
};
use netkv_wire::{Ip, KV_OFFSET, client_ip, server_ip};
use netkv_workload::{
    Arrivals, Mix, MultigetSize, Random, ValueSize, Workload, WorkloadConfig, key_of_wire, wire_key,
};

const ALL: [Architecture; 3] = [Architecture::NetMc, Architecture::CliMc, Architecture::CoordiMc];

fn layout(servers: u16) -> Layout {
    Layout::one_rack(servers, 16)
}

fn load(outstanding: u32) -> netkv_roles::ClientConfig {
    netkv_roles::ClientConfig {
        first_request: 1001,
        retry: Backoff { initial: 10 * MILLISECOND, cap: 40 * MILLISECOND },
        deadline: SECOND,
        ..netkv_roles::ClientConfig::new(1, Arrivals::Closed { outstanding })
    }
}

fn workload(size: MultigetSize, mix: Mix) -> WorkloadConfig {
    WorkloadConfig { multiget: Some(size), ..WorkloadConfig::new(10_000, mix, 1) }
}

fn client(
    architecture: Architecture,
    layout: Layout,
    load: netkv_roles::ClientConfig,
    workload: WorkloadConfig,
) -> Client {
    let config = ClientConfig { load, architecture, layout };
    Client::new(config, Workload::new(workload).unwrap()).unwrap()
}

fn user(architecture: Architecture, layout: Layout) -> Client {
    client(architecture, layout, load(0), workload(MultigetSize::Fixed(1), Mix::YCSB_C))
}

/// The first key of each of these servers that is not there yet.
fn keys_on(servers: &[u16], of: u16) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for server in servers {
        let names = (0..).map(|number: u32| format!("key{number}x").into_bytes());
        let mut own = names.filter(|name| owner(name, of) == *server && !keys.contains(name));
        let key = own.next().expect("servers have keys");
        keys.push(key);
    }
    keys
}

fn get(client: &mut Client, now: Nanos, keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let names: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut out = Actions::new();
    client.submit(now, 7, &UserOp::Get(&names), &mut out).unwrap();
    out.frames().map(<[u8]>::to_vec).collect()
}

fn poll(client: &mut Client, now: Nanos) -> Vec<Vec<u8>> {
    let mut out = Actions::new();
    client.poll(now, &mut out);
    out.frames().map(<[u8]>::to_vec).collect()
}

/// A reply to `asked` about keys from `first` on, with the key itself as its value.
fn reply(from: Ip, asked: &View<'_>, first: u8, keys: &[Vec<u8>]) -> Vec<u8> {
    let fields = if keys.is_empty() { 1 } else { FIELDS };
    let addresses = Addresses { source: from, destination: asked.source(), fields };
    let mut frame = Vec::new();
    let header = asked.header().answer(first, 0);
    let mut reply = ReplyWriter::begin(&mut frame, &addresses, &header, Answer::Ok);
    keys.iter().for_each(|key| reply.entry(&mut frame, key, true, Some(key)));
    reply.finish(&mut frame);
    frame
}

const FIELDS: u8 = 4;

fn completion(client: &mut Client) -> Option<Outcome> {
    let mut completions: Vec<Completion> = Vec::new();
    client.completions(&mut completions);
    completions.pop().map(|completion| completion.outcome)
}

// ------------------------------------------------------------------------- client

#[test]
fn the_client_makes_the_request_of_figure_5_and_puts_the_replies_of_figure_7_together() {
    // Keys A to D; server 1 has A and D, server 2 has B, server 3 has C; the 1001st request.
    let keys = keys_on(&[1, 2, 3, 1], 4);
    let mut client = user(Architecture::NetMc, layout(4));
    let frames = get(&mut client, 0, &keys);
    assert_eq!(frames.len(), 1);
    let sorted: Vec<Vec<u8>> = [0, 3, 1, 2].iter().map(|at: &usize| keys[*at].clone()).collect();
    let mut expected = vec![1, 0, 0, 0x03, 0xe9, 1, 4, 0b0111_0000, 0, 0, 0, 1, 2, 3, 0, 1];
    for key in &sorted {
        expected.push(key.len() as u8);
        expected.extend_from_slice(key);
    }
    assert_eq!(frames[0][KV_OFFSET..], expected);
    let asked = View::parse(&frames[0], FIELDS).unwrap();
    assert_eq!(asked.destination(), splitter_ip(1));
    // B and C first, then A and D.
    let mut out = Actions::new();
    for (server, first, keys) in [(2, 2, &sorted[2..3]), (3, 3, &sorted[3..]), (1, 0, &sorted[..2])]
    {
        assert_eq!(completion(&mut client), None);
        client.on_frame(5, &reply(server_ip(server), &asked, first, keys), &mut out);
    }
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    assert!(out.is_empty() && client.outstanding() == 0);
    assert_eq!(client.stats().counts.groups, 3);
}

#[test]
fn each_architecture_sends_what_it_has_to() {
    let keys = keys_on(&[0, 1, 2, 3, 0, 1, 2], 4);
    let sent = |architecture| {
        let mut client = user(architecture, layout(4));
        let frames = get(&mut client, 0, &keys);
        frames
            .iter()
            .map(|frame| {
                let view = View::parse(frame, FIELDS).unwrap();
                let Header { oid, startidx, clo, rack, numkey, .. } = *view.header();
                assert_eq!((oid, startidx, clo, view.keys().count()), (1, 0, 0, numkey.into()));
                (view.destination(), view.keys().count(), rack, view.header().srv[0])
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(sent(Architecture::NetMc), [(splitter_ip(1), 7, 1, 0)]);
    let climc = [(0, 2), (1, 2), (2, 2), (3, 1)].map(|(at, n)| (server_ip(at), n, 0, at as u8));
    assert_eq!(sent(Architecture::CliMc), climc);
    assert_eq!(sent(Architecture::CoordiMc), [(COORDINATOR_IP, 7, 0, 0)]);
}

#[test]
fn a_retry_of_netmc_is_the_request_itself_or_what_the_switch_would_have_made_of_it() {
    let keys = keys_on(&[0, 0, 1, 1, 1, 3], 4);
    let mut client = user(Architecture::NetMc, layout(4));
    let first = get(&mut client, 0, &keys);
    assert_eq!(poll(&mut client, 10 * MILLISECOND), first, "nothing was answered");
    let asked = View::parse(&first[0], FIELDS).unwrap();
    let mut out = Actions::new();
    // Of the second group the one in the middle is answered, of the others everything.
    for (server, at, keys) in [(0, 0, &keys[..2]), (1, 3, &keys[3..4]), (3, 5, &keys[5..])] {
        client.on_frame(0, &reply(server_ip(server), &asked, at, keys), &mut out);
    }
    let again = poll(&mut client, 30 * MILLISECOND);
    assert_eq!(again.len(), 1);
    let view = View::parse(&again[0], FIELDS).unwrap();
    let Header { id, oid, numkey, keyidx, startidx, clo, rack, srv, .. } = *view.header();
    assert_eq!((id, oid, numkey, startidx), (1001, 2, 3, 2));
    assert_eq!((keyidx, clo, rack, &srv[..3]), (0x8000, 1, 0, &[0, 1, 3][..]));
    assert_eq!(view.destination(), server_ip(1));
    assert_eq!(view.asked().collect::<Vec<_>>(), &keys[2..5]);
    client.on_frame(0, &reply(server_ip(1), &view, 2, &keys[2..5]), &mut out);
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    assert_eq!((client.stats().counts.sent, client.stats().counts.retries), (3, 2));
}

#[test]
fn requests_to_several_racks_are_one_for_each() {
    let racks = Layout { servers: 4, per_rack: 2, fields: FIELDS, key_size: 16 };
    let keys = keys_on(&[0, 1, 2, 3, 2], 4);
    let mut client = user(Architecture::NetMc, racks);
    let frames = get(&mut client, 0, &keys);
    let of = |frame: &Vec<u8>| {
        let view = View::parse(frame, FIELDS).unwrap();
        let Header { id, rack, numkey, srv, .. } = *view.header();
        (view.destination(), id, rack, numkey, [srv[0], srv[1]])
    };
    let expected = [(splitter_ip(1), 1001, 1, 2, [0, 1]), (splitter_ip(2), 1002, 2, 3, [2, 3])];
    assert_eq!(frames.iter().map(of).collect::<Vec<_>>(), expected);
}

#[test]
fn no_client_gets_a_window_ahead_of_a_request_that_is_not_answered() {
    for architecture in ALL {
        let mix = Mix { read: 0.5, read_modify_write: 0.5, ..Mix::writes(0.0, 0.0) };
        let workload = workload(MultigetSize::Fixed(128), mix);
        let mut client = client(architecture, layout(32), load(100_000), workload);
        let mut out = Actions::new();
        client.start(0, &mut out);
        let first = 1001u32;
        let mut furthest = 0;
        // All but the very first request are answered at once.
        for _ in 0..200 {
            let frames: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
            out.clear();
            for frame in &frames {
                let view = View::parse(frame, 32).unwrap();
                let ahead = view.header().id.wrapping_sub(first);
                furthest = furthest.max(ahead);
                if ahead == 0 {
                    continue;
                }
                let addresses =
                    Addresses { source: server_ip(0), destination: view.source(), fields: 32 };
                let mut bytes = Vec::new();
                let header = view.header().answer(0, 0);
                let mut reply = ReplyWriter::begin(&mut bytes, &addresses, &header, Answer::Ok);
                let value = view.header().op.reads().then_some(&[][..]);
                view.keys().for_each(|key| reply.entry(&mut bytes, key, false, value));
                reply.finish(&mut bytes);
                client.on_frame(1, &bytes, &mut out);
            }
        }
        assert!((1000..netkv_roles::WINDOW).contains(&furthest), "{architecture:?}: {furthest}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_is_possible() {
    let layout4 = layout(4);
    let mut client = user(Architecture::NetMc, layout4);
    let mut out = Actions::new();
    let mut refuse = |op: &UserOp<'_>| client.submit(0, 1, op, &mut out).unwrap_err();
    assert!(refuse(&UserOp::Get(&[&b"key1"[..]; 129])).contains("up to 128"));
    assert!(refuse(&UserOp::Get(&[b"abc"])).contains("4 to 64 bytes, and \"abc\" has 3"));
    assert!(refuse(&UserOp::Put(&[7; 65], b"")).contains("4 to 64"));
    assert!(refuse(&UserOp::Put(b"abcd", &[0; 1025])).contains("1024"));
    assert!(out.is_empty());

    let config = |layout, load| ClientConfig { load, architecture: Architecture::NetMc, layout };
    let new = |config| {
        let workload = Workload::new(workload(MultigetSize::PRODUCTION, Mix::YCSB_C)).unwrap();
        Client::new(config, workload).unwrap_err()
    };
    assert!(new(config(Layout { fields: 3, ..layout4 }, load(1))).contains("SRV fields"));
    assert!(new(config(Layout { fields: 33, ..layout4 }, load(1))).contains("1 to 32"));
    assert!(new(config(Layout { servers: 257, ..layout4 }, load(1))).contains("1 to 256"));
    assert!(new(config(Layout { key_size: 3, ..layout4 }, load(1))).contains("4 to 64"));
    assert!(new(config(Layout { key_size: 8, ..layout4 }, load(1))).contains("keys of 8"));
    let small = netkv_roles::ClientConfig { window: 100, ..load(1) };
    assert!(new(config(layout4, small)).contains("at least 512"));

    let coordinator = |config| Coordinator::new(config).unwrap_err();
    let good = CoordinatorConfig::new(layout4);
    assert!(coordinator(CoordinatorConfig { worker: 1, ..good }).contains("worker 1 of 1"));
    assert!(coordinator(CoordinatorConfig { max_requests: 0, ..good }).contains("1 to 1000000"));
    let long = CoordinatorConfig { deadline: 1000 * SECOND, ..good };
    assert!(coordinator(long).contains("deadline of 1000 s"));
    assert!(ServerConfig::new(4, layout4).check().unwrap_err().contains("server 4"));
}

#[test]
fn users_wait_for_room_in_their_order_and_no_longer_than_their_deadline() {
    let load = netkv_roles::ClientConfig { max_outstanding: 2, max_waiting: 3, ..load(0) };
    let keys = keys_on(&[0, 1, 2], 4);
    let none = workload(MultigetSize::Fixed(1), Mix::YCSB_C);
    let mut client = client(Architecture::NetMc, layout(4), load, none);
    let mut out = Actions::new();
    let names: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    for (now, token) in (0..5).enumerate() {
        client.submit(now as Nanos, token, &UserOp::Get(&names), &mut out).unwrap();
    }
    let refused = client.submit(5, 5, &UserOp::Get(&names), &mut out).unwrap_err();
    assert!(refused.contains("3 wait"), "{refused}");
    client.submit(5, 6, &UserOp::Get(&[]), &mut out).unwrap();
    let ended = |client: &mut Client| {
        let mut ended = Vec::new();
        client.completions(&mut ended);
        ended
    };
    let empty = Completion { token: 6, outcome: Outcome::Values(Vec::new()) };
    assert_eq!((ended(&mut client), out.frames().len()), (vec![empty], 2));
    // The first is answered, so the third goes.
    let frame = out.frames().next().unwrap().to_vec();
    out.clear();
    let asked = View::parse(&frame, FIELDS).unwrap();
    client.on_frame(6, &reply(server_ip(0), &asked, 0, &keys), &mut out);
    assert_eq!((ended(&mut client)[0].token, out.frames().len()), (0, 1));
    poll(&mut client, SECOND + 4);
    let tokens: Vec<(u64, bool)> = ended(&mut client)
        .into_iter()
        .map(|it| {
            let servers = "servers 0, 1, 2 have not answered".to_owned();
            (it.token, it.outcome == Outcome::TimedOut { missing: servers })
        })
        .collect();
    assert_eq!(tokens, [(1, true), (2, true), (3, true), (4, true)]);
    assert_eq!((client.outstanding(), client.deadline()), (0, None));
    let counts = client.stats().counts;
    assert_eq!((counts.completed, counts.lost, counts.keys_read), (0, 0, 0), "no load");
}

#[test]
fn the_load_counts_operations_keys_and_groups() {
    for architecture in ALL {
        let mut rig = Rig::new(architecture, MultigetSize::Fixed(10), Mix::YCSB_C);
        rig.run(300);
        let counts = rig.client.stats().counts;
        assert_eq!(counts.keys_read, 10 * counts.completed, "{architecture:?}");
        assert_eq!((counts.reads, counts.lost, counts.retries), (counts.completed, 0, 0));
        assert!(counts.completed >= 290);
        let groups = counts.groups as f64 / counts.completed as f64;
        let sent = counts.sent as f64 / counts.completed as f64;
        match architecture {
            Architecture::NetMc => assert!(groups > 3.5 && sent < 1.05, "{groups} {sent}"),
            Architecture::CliMc => assert!(groups > 3.5 && sent > 3.5, "{groups} {sent}"),
            Architecture::CoordiMc => assert!(groups < 1.05 && sent < 1.05, "{groups} {sent}"),
        }
        assert_eq!(rig.client.stats().latency.len(), counts.completed);
    }
}

#[test]
fn every_written_key_is_read_back_at_the_end() {
    for architecture in ALL {
        let mut rig = Rig::new(architecture, MultigetSize::PRODUCTION, Mix::writes(0.5, 0.3));
        rig.run(500);
        rig.client.pause();
        rig.run(1);
        assert_eq!(rig.client.outstanding(), 0);
        let mut out = Actions::new();
        rig.client.verify(rig.now, &mut out);
        rig.carry_out(out);
        rig.run(1);
        let report = rig.client.verified().unwrap();
        assert!(report.checked > 50, "{report:?}");
        assert_eq!((report.acked_writes_lost, report.unread), (0, 0));
        assert_eq!(rig.client.history().unwrap().linearizable(), Some(true));
    }
}

// ------------------------------------------------------------------------- server

fn server() -> Server {
    Server::new(ServerConfig::new(1, layout(FIELDS.into())), 0)
}

fn asking(op: Op, number: u32, keys: &[Vec<u8>]) -> Vec<u8> {
    asking_from(client_ip(1), op, number, keys, None)
}

fn asking_from(
    source: Ip,
    op: Op,
    number: u32,
    keys: &[Vec<u8>],
    on_behalf: Option<OnBehalf>,
) -> Vec<u8> {
    let addresses = Addresses { source, destination: server_ip(1), fields: FIELDS };
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
    server.on_frame(0, &asking(Op::Mget, 5, &keys), &mut out);
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
    assert_eq!((server.stats().reads, server.stats().keys_read), (1, 3));
}

#[test]
fn what_is_not_for_a_server_is_counted_and_has_no_effect() {
    let mut server = server();
    let mut out = Actions::new();
    let strange = keys_on(&[1, 2], 4);
    server.on_frame(0, &asking(Op::Mget, 1, &strange), &mut out);
    server.on_frame(0, &asking(Op::Put, 2, &strange[1..]), &mut out);
    assert_eq!(server.stats().wrong_partition, 2);
    let own = &strange[..1];
    server.on_frame(0, &asking(Op::Put, 3, own)[..60], &mut out);
    assert_eq!(server.stats().malformed, 1);
    // A coordinator must say for whom it writes, and hosts that are nobody write nothing.
    server.on_frame(0, &asking_from(COORDINATOR_IP, Op::Put, 4, own, None), &mut out);
    server.on_frame(0, &asking_from([10, 9, 9, 9], Op::Delete, 5, own, None), &mut out);
    assert_eq!((server.stats().unexpected, out.is_empty()), (2, true));
    let on_behalf = Some(OnBehalf { client: 9, request: 77 });
    server.on_frame(0, &asking_from(COORDINATOR_IP, Op::Put, 4, own, on_behalf), &mut out);
    let origin = out.calls().next().unwrap().origin.unwrap();
    assert_eq!((origin.sender, origin.request), (9, 77), "the client's, not the coordinator's");
}

#[test]
fn a_server_that_has_too_much_to_read_or_write_says_so() {
    let keys = keys_on(&[1; 4], 4);
    let config = ServerConfig {
        max_reading: 7,
        max_waiting: 2,
        ..ServerConfig::new(1, layout(FIELDS.into()))
    };
    let mut server = Server::new(config, 0);
    let mut out = Actions::new();
    server.on_frame(0, &asking(Op::Mget, 1, &keys), &mut out);
    server.on_frame(0, &asking(Op::Mget, 2, &keys), &mut out);
    let answer = |frame: &[u8]| {
        let view = View::parse(frame, FIELDS).unwrap();
        (view.header().id, view.answer())
    };
    assert_eq!(out.frames().map(answer).collect::<Vec<_>>(), [(2, Answer::Overloaded)]);
    out.clear();
    for number in 3..=6 {
        server.on_frame(0, &asking(Op::Put, number, &keys[..1]), &mut out);
    }
    assert_eq!(out.frames().map(answer).collect::<Vec<_>>(), [(6, Answer::Overloaded)]);
    assert_eq!((server.stats().overloaded, server.busy_keys()), (2, 1));
}

#[test]
fn an_emulated_server_serves_its_rate_and_drops_what_does_not_fit() {
    let keys = keys_on(&[1], 4);
    let config = ServerConfig {
        service_rate: Some(1000.0),
        service_queue: 10,
        ..ServerConfig::new(1, layout(FIELDS.into()))
    };
    let mut server = Server::new(config, 0);
    let mut out = Actions::new();
    (0..30).for_each(|number| server.on_frame(0, &asking(Op::Mget, number, &keys), &mut out));
    assert_eq!((out.calls().len(), server.stats().dropped), (1, 19));
    server.on_timer(5 * MILLISECOND, &mut out);
    assert_eq!((out.calls().len(), server.deadline()), (6, Some(6 * MILLISECOND)));
    assert!(server.slow(2.0));
    server.on_timer(100 * MILLISECOND, &mut out);
    assert_eq!(out.calls().len(), 11);
}

// -------------------------------------------------------------------- coordinator

#[test]
fn the_coordinator_asks_each_server_once_and_answers_with_everything() {
    let keys = keys_on(&[3, 0, 3, 1], 4);
    let mut client = user(Architecture::CoordiMc, layout(4));
    let request = get(&mut client, 0, &keys).remove(0);
    let mut coordinator = Coordinator::new(CoordinatorConfig::new(layout(4))).unwrap();
    let mut out = Actions::new();
    coordinator.on_frame(0, &request, &mut out);
    let asked: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    let views: Vec<View<'_>> =
        asked.iter().map(|frame| View::parse(frame, FIELDS).unwrap()).collect();
    let to: Vec<(Ip, usize)> =
        views.iter().map(|view| (view.destination(), view.keys().count())).collect();
    assert_eq!(to, [(server_ip(3), 2), (server_ip(0), 1), (server_ip(1), 1)]);
    let parts = [vec![0, 2], vec![1], vec![3]];
    for (view, part) in views.iter().zip(parts).rev() {
        out.clear();
        let part: Vec<Vec<u8>> = part.iter().map(|at: &usize| keys[*at].clone()).collect();
        // Nobody but the server that was asked can answer.
        coordinator.on_frame(1, &reply(server_ip(2), view, 0, &part), &mut out);
        assert!(out.is_empty());
        coordinator.on_frame(1, &reply(view.destination(), view, 0, &part), &mut out);
    }
    assert_eq!(out.frames().len(), 1);
    let answer = out.frames().next().unwrap().to_vec();
    let view = View::parse(&answer, FIELDS).unwrap();
    assert_eq!(
        (view.header().id, view.header().numkey, view.destination()),
        (1001, 4, client_ip(1))
    );
    client.on_frame(2, &answer, &mut out);
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    let stats = coordinator.stats();
    assert_eq!((stats.requests, stats.keys, stats.sub_requests, stats.replies), (1, 4, 3, 1));
    assert_eq!((stats.unexpected, coordinator.under_way()), (3, 0));
}

#[test]
fn replies_find_the_worker_that_asked_also_where_numbers_wrap() {
    let keys = keys_on(&[0, 1, 2, 3], 4);
    let mut client = user(Architecture::CoordiMc, layout(4));
    for workers in [1, 3, 4, 64] {
        for worker in 0..workers {
            let config = CoordinatorConfig {
                worker,
                workers,
                first_request: u32::MAX / workers - 6,
                ..CoordinatorConfig::new(layout(4))
            };
            let mut coordinator = Coordinator::new(config).unwrap();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..5 {
                let request = get(&mut client, 0, &keys).remove(0);
                assert_eq!(Coordinator::worker_of(&request, workers), 1 % workers);
                let mut out = Actions::new();
                coordinator.on_frame(0, &request, &mut out);
                for frame in out.frames() {
                    let asked = View::parse(frame, FIELDS).unwrap();
                    assert!(seen.insert(asked.header().id), "numbers are not used twice");
                    let reply = reply(server_ip(0), &asked, 0, &keys[..1]);
                    assert_eq!(Coordinator::worker_of(&reply, workers), worker);
                }
            }
        }
    }
    assert_eq!(Coordinator::worker_of(&[], 5), 0);
}

// ---------------------------------------------------------------------------- rig

/// Everything of a rack, with no time between sending and arriving.
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

    /// So many operations of the load, and those that it takes to end.
    fn run(&mut self, operations: u64) {
        let mut out = Actions::new();
        if self.client.stats().counts.completed == 0 {
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
            if self.client.stats().counts.completed >= operations {
                self.client.pause();
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

/// A request as the switch splits it: what a client of NetMC would send again for each group.
fn split(frame: &[u8]) -> Vec<Vec<u8>> {
    let view = View::parse(frame, 5).unwrap();
    let keys: Vec<&[u8]> = view.keys().collect();
    let mut start = 0;
    let groups = keys.chunk_by(|one, next| owner(one, 5) == owner(next, 5));
    groups
        .map(|group| {
            let server = server_ip(owner(group[0], 5));
            let addresses = Addresses { source: view.source(), destination: server, fields: 5 };
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

#[test]
fn keys_of_the_keyspace_reach_stores_under_their_name() {
    for size in [4, 15, 16, 64] {
        let layout = Layout::one_rack(1, size);
        let mut server = Server::new(ServerConfig::new(0, layout), 0);
        let name = wire_key(5, size);
        let addresses = Addresses { source: client_ip(1), destination: server_ip(0), fields: 1 };
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
