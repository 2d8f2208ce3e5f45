//! The requests of clients, and their handling of replies.

use crate::Architecture;
use netkv_roles::coordimc::{Coordinator, CoordinatorConfig};
use netkv_roles::kits::multiget::{Client, ClientConfig, Layout, ServerConfig, Users};
use netkv_roles::{Actions, Completion, MILLISECOND, Nanos, Outcome, SECOND, UserOp};
use netkv_roles::{Client as _, LoadClient as _, UserClient as _};
use netkv_wire::multiget::{
    Addresses, Answer, COORDINATOR_IP, Header, ReplyWriter, View, splitter_ip,
};
use netkv_wire::{KV_OFFSET, server_ip};
use netkv_workload::{Mix, MultigetSize, Workload};

use super::*;

#[test]
fn the_request_of_figure_5_gets_the_replies_of_figure_7() {
    // Keys A to D; server 1 has A and D, server 2 has B, server 3 has C; the 1001st request.
    let keys = keys_on(&[1, 2, 3, 1], 4);
    let mut client = user(Architecture::NetMc, layout(4), load(0));
    let frames = get(&mut client, 0, &keys);
    assert_eq!(frames.len(), 1);
    let sorted: Vec<Vec<u8>> = [0, 3, 1, 2].iter().map(|at: &usize| keys[*at].clone()).collect();
    let mut expected = vec![1, 0, 0, 0x03, 0xe9, 1, 4, 0b0111_0000, 0, 0, 0, 1, 2, 3, 0, 1];
    for key in &sorted {
        expected.push(key.len() as u8);
        expected.extend_from_slice(key);
    }
    assert_eq!(frames[0][KV_OFFSET..], expected);
    let request = View::parse(&frames[0], FIELDS).unwrap();
    assert_eq!(request.destination(), splitter_ip(1));
    // B and C first, then A and D.
    let mut out = Actions::new();
    for (server, first, keys) in [(2, 2, &sorted[2..3]), (3, 3, &sorted[3..]), (1, 0, &sorted[..2])]
    {
        assert_eq!(completion(&mut client), None);
        client.on_frame(5, &reply(server_ip(server), &request, first, keys), &mut out);
    }
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    assert!(out.is_empty() && client.outstanding() == 0);
    assert_eq!(client.multiget_counts().groups, 3);
}

#[test]
fn each_architecture_sends_its_requests() {
    let keys = keys_on(&[0, 1, 2, 3, 0, 1, 2], 4);
    let sent = |architecture| {
        let mut client = user(architecture, layout(4), load(0));
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
fn a_retry_is_the_request_or_a_sub_request_of_the_switch() {
    let keys = keys_on(&[0, 0, 1, 1, 1, 3], 4);
    let mut client = user(Architecture::NetMc, layout(4), load(0));
    let first = get(&mut client, 0, &keys);
    assert_eq!(poll(&mut client, 10 * MILLISECOND), first, "nothing was answered");
    let request = View::parse(&first[0], FIELDS).unwrap();
    let mut out = Actions::new();
    // One key of the second group is answered, and all keys of the other groups.
    for (server, at, keys) in [(0, 0, &keys[..2]), (1, 3, &keys[3..4]), (3, 5, &keys[5..])] {
        client.on_frame(0, &reply(server_ip(server), &request, at, keys), &mut out);
    }
    let again = poll(&mut client, 30 * MILLISECOND);
    assert_eq!(again.len(), 1);
    let view = View::parse(&again[0], FIELDS).unwrap();
    let Header { id, oid, numkey, keyidx, startidx, clo, rack, srv, .. } = *view.header();
    assert_eq!((id, oid, numkey, startidx), (1001, 2, 3, 2));
    assert_eq!((keyidx, clo, rack, &srv[..3]), (1 << 127, 1, 0, &[0, 1, 3][..]));
    assert_eq!(view.destination(), server_ip(1));
    assert_eq!(view.asked().collect::<Vec<_>>(), &keys[2..5]);
    client.on_frame(0, &reply(server_ip(1), &view, 2, &keys[2..5]), &mut out);
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    assert_eq!((client.counts().requests, client.counts().retries), (3, 2));
}

#[test]
fn each_rack_gets_its_own_request() {
    let racks = Layout { servers: 4, per_rack: 2, fields: FIELDS.into(), key_size: 16 };
    let keys = keys_on(&[0, 1, 2, 3, 2], 4);
    let mut client = user(Architecture::NetMc, racks, load(0));
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
fn no_client_gets_a_window_ahead_of_a_pending_request() {
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
                let addresses = Addresses {
                    source: server_ip(0),
                    destination: view.source(),
                    fields: 32.into(),
                };
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
fn invalid_operations_and_settings_are_refused_with_limits() {
    let layout4 = layout(4);
    let mut client = user(Architecture::NetMc, layout4, load(0));
    let mut out = Actions::new();
    let mut refuse = |op: &UserOp<'_>| client.submit(0, 1, op, &mut out).unwrap_err();
    assert!(refuse(&UserOp::Get(&[&b"key1"[..]; 129])).contains("up to 128"));
    assert!(refuse(&UserOp::Get(&[b"abc"])).contains("4 to 64 bytes, and \"abc\" has 3"));
    assert!(refuse(&UserOp::Put(&[7; 65], b"")).contains("4 to 64"));
    assert!(refuse(&UserOp::Put(b"abcd", &[0; 1025])).contains("1024"));
    assert!(out.is_empty());

    let config =
        |layout, load| ClientConfig { load, architecture: Architecture::NetMc.role(), layout };
    let new = |config| {
        let workload = Workload::new(workload(MultigetSize::PRODUCTION, Mix::YCSB_C)).unwrap();
        Client::new(config, workload).unwrap_err()
    };
    assert!(new(config(Layout { fields: 3.into(), ..layout4 }, load(1))).contains("SRV fields"));
    assert!(new(config(Layout { fields: 33.into(), ..layout4 }, load(1))).contains("1 to 32"));
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

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn users_wait_for_room_in_order_until_their_deadline() {
    let load = netkv_roles::ClientConfig { max_outstanding: 2, max_waiting: 3, ..load(0) };
    let keys = keys_on(&[0, 1, 2], 4);
    let mut client = user(Architecture::NetMc, layout(4), load);
    let mut out = Actions::new();
    let names: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    for (now, token) in (0..5).enumerate() {
        client.submit(now as Nanos, token, &UserOp::Get(&names), &mut out).unwrap();
    }
    let refused = client.submit(5, 5, &UserOp::Get(&names), &mut out).unwrap_err();
    assert!(refused.contains("3 wait"), "{refused}");
    client.submit(5, 6, &UserOp::Get(&[]), &mut out).unwrap();
    let ended = |client: &mut Client<Users>| {
        let mut ended = Vec::new();
        client.completions(&mut ended);
        ended
    };
    let empty = Completion { token: 6, outcome: Outcome::Values(Vec::new()) };
    assert_eq!((ended(&mut client), out.frames().len()), (vec![empty], 2));
    // The first operation is answered, so the third one starts.
    let frame = out.frames().next().unwrap().to_vec();
    out.clear();
    let request = View::parse(&frame, FIELDS).unwrap();
    client.on_frame(6, &reply(server_ip(0), &request, 0, &keys), &mut out);
    assert_eq!((ended(&mut client)[0].token, out.frames().len()), (0, 1));
    poll(&mut client, SECOND + 4);
    let mut missing: Vec<String> = keys.iter().map(|key| format!("0x{}", hex(key))).collect();
    missing.sort();
    let tokens: Vec<(u64, bool)> = ended(&mut client)
        .into_iter()
        .map(|it| {
            let Outcome::TimedOut { missing: named } = it.outcome else { return (it.token, false) };
            let mut named: Vec<&str> = named.split(", ").collect();
            named.sort_unstable();
            (it.token, named == missing)
        })
        .collect();
    assert_eq!(tokens, [(1, true), (2, true), (3, true), (4, true)]);
    assert_eq!((client.outstanding(), client.deadline()), (0, None));
    let counts = *client.counts();
    assert_eq!((counts.completed, counts.lost), (0, 0), "no load");
}
