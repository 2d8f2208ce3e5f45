//! Conditional SETs: they take effect only if the item has the version that a read returned.

use netkv_roles::kits::plain::Plain;
use netkv_roles::kits::single_key;
use netkv_roles::kits::single_key::client::Protocol;
use netkv_roles::{Backoff, Client as _};
use netkv_wire::{FrameView, Key, Message, Op, Stamp, Status, write_frame};

use super::*;

/// Versions that the server returned to a read, a SET, or 0.
fn cas_of(replies: &[Vec<u8>]) -> u64 {
    Reply::parse(&replies[0]).unwrap().cas
}

fn status_of(replies: &[Vec<u8>]) -> u16 {
    Reply::parse(&replies[0]).unwrap().status
}

fn value_of(rack: &mut Rack, opaque: u32) -> Vec<u8> {
    let replies = rack.give_server(&request(Opcode::Get, opaque, b""));
    Reply::parse(&replies[0]).unwrap().value.to_vec()
}

#[test]
fn conditional_set_needs_the_version_of_its_item() {
    let mut rack = Rack::new(Mix::YCSB_C);
    let initial = cas_of(&rack.give_server(&request(Opcode::Get, 1, b"")));
    assert_ne!(initial, 0);
    let set = |opaque, cas| conditional(Opcode::Set, opaque, b"value", cas);
    let replies = rack.give_server(&set(2, initial));
    assert_eq!(status_of(&replies), status::OK);
    let second = cas_of(&replies);
    for (opaque, old) in [(3, initial), (4, second + 1)] {
        let replies = rack.give_server(&conditional(Opcode::Set, opaque, b"other", old));
        assert_eq!((status_of(&replies), cas_of(&replies)), (status::EXISTS, 0));
    }
    assert_eq!(value_of(&mut rack, 5), b"value");
    assert_eq!(status_of(&rack.give_server(&set(6, second))), status::OK);
    assert_eq!(status_of(&rack.give_server(&request(Opcode::Delete, 7, b""))), status::OK);
    let replies = rack.give_server(&set(8, second));
    assert_eq!(status_of(&replies), status::NOT_FOUND);
    let replies = rack.give_server(&request(Opcode::Get, 9, b""));
    assert_eq!(status_of(&replies), status::NOT_FOUND, "the refused SET created no item");
    let conflicts = rack.server.counts().into_iter().find(|(name, _)| *name == "conflicts");
    assert_eq!(conflicts.unwrap().1, 3);
}

#[test]
fn versions_of_before_a_restart_are_refused() {
    let mut rack = Rack::new(Mix::YCSB_C);
    let initial = cas_of(&rack.give_server(&request(Opcode::Get, 1, b"")));
    let written = cas_of(&rack.give_server(&request(Opcode::Set, 2, b"value")));
    rack.restart();
    for (opaque, old) in [(3, initial), (4, written)] {
        let replies = rack.give_server(&conditional(Opcode::Set, opaque, b"other", old));
        assert_eq!(status_of(&replies), status::EXISTS);
    }
    let present = cas_of(&rack.give_server(&request(Opcode::Get, 5, b"")));
    let replies = rack.give_server(&conditional(Opcode::Set, 6, b"other", present));
    assert_eq!(status_of(&replies), status::OK);
}

#[test]
fn copy_of_a_conditional_set_has_no_answer() {
    let mut rack = Rack::new(Mix::YCSB_C);
    let initial = cas_of(&rack.give_server(&request(Opcode::Get, 1, b"")));
    let done = conditional(Opcode::Set, 2, b"value", initial);
    let refused = conditional(Opcode::Set, 3, b"other", initial);
    assert_eq!(rack.give_server(&done).len(), 1);
    assert_eq!(rack.give_server(&refused).len(), 1);
    assert!(rack.give_server(&done).is_empty() && rack.give_server(&refused).is_empty());
    rack.restart();
    assert!(rack.give_server(&done).is_empty(), "the store remembers it");
    assert_eq!(status_of(&rack.give_server(&refused)), status::EXISTS, "refused again");
    assert_eq!(value_of(&mut rack, 4), b"value");
}

#[test]
fn reads_during_a_write_have_the_version_before() {
    let mut rack = Rack::new(Mix::YCSB_C);
    let before = cas_of(&rack.give_server(&request(Opcode::Get, 1, b"")));
    let (mut put, mut get) = (Actions::new(), Actions::new());
    rack.server.on_frame(1, &request(Opcode::Set, 2, b"value"), &mut put);
    rack.server.on_frame(1, &request(Opcode::Get, 3, b""), &mut get);
    // The store has the write first, but the read ends first.
    let call = put.calls().next().unwrap();
    rack.store.execute(&call);
    let (put_id, read) = (call.id, get.calls().next().unwrap());
    let mut out = Actions::new();
    rack.server.on_stored(1, read.id, rack.store.execute(&read), &mut out);
    let replies: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    let reply = Reply::parse(&replies[0]).unwrap();
    assert_eq!((reply.value, reply.cas), (&b"value"[..], before));
    rack.server.on_stored(1, put_id, netkv_roles::StoreResult::Done, &mut Actions::new());
    let replies = rack.give_server(&conditional(Opcode::Set, 4, b"other", before));
    assert_eq!(status_of(&replies), status::EXISTS, "refused rather than done by mistake");
}

#[test]
fn conditional_load_has_conflicts_and_is_linearizable() {
    for mix in [
        Mix { read: 0.5, update: 0.4, delete: 0.1, ..Mix::YCSB_C },
        Mix { read: 0.3, update: 0.3, read_modify_write: 0.4, ..Mix::YCSB_C },
    ] {
        let mut rack = Rack::with_conditional(mix, 0.5);
        let mut frames = rack.start();
        let (mut conditional, mut refused) = (0, 0);
        for _ in 0..2000 {
            let bytes = frames.pop().expect("one request is always outstanding");
            let parsed = Request::parse(&bytes).unwrap();
            conditional += u64::from(parsed.cas != 0);
            let replies = rack.give_server(&bytes);
            let reply = Reply::parse(&replies[0]).unwrap();
            refused += u64::from(parsed.cas != 0 && reply.status != status::OK);
            frames = rack.give_client(&replies[0]);
        }
        let counts = rack.counts().counts;
        assert_eq!((counts.errors, counts.malformed, counts.lost), (0, 0, 0));
        assert_eq!(counts.conflicts, refused);
        assert!(refused > 10 && conditional > 2 * refused, "{refused} of {conditional} refused");
        let history = rack.client.load().judge.history().unwrap();
        assert_eq!((history.violations, history.linearizable()), (0, Some(true)));
    }
}

#[test]
fn read_of_a_refused_value_is_a_violation() {
    let mix = Mix { read: 0.5, update: 0.5, ..Mix::YCSB_C };
    let mut rack = Rack::with_conditional(mix, 1.0);
    let mut frames = rack.start();
    let mut hidden = 0;
    for _ in 0..2000 {
        let bytes = frames.pop().expect("one request is always outstanding");
        let parsed = Request::parse(&bytes).unwrap();
        let mut replies = rack.give_server(&bytes);
        let reply = Reply::parse(&replies[0]).unwrap();
        if parsed.cas != 0 && reply.status == status::OK {
            // The client is told that its SET was refused, although it took effect.
            hidden += 1;
            let mut refusal = Vec::new();
            Reply { status: status::EXISTS, cas: 0, ..reply }.write(&mut refusal);
            replies[0] = refusal;
        }
        frames = rack.give_client(&replies[0]);
    }
    let counts = rack.counts().counts;
    assert!(hidden > 100 && counts.phantom_reads > hidden / 4, "{counts:?}");
    assert_eq!(rack.client.load().judge.history().unwrap().linearizable(), Some(false));
}

/// Netkv's own frames with conditional writes, whose requests are sent again.
#[derive(Debug)]
struct Repeating;

impl Protocol for Repeating {
    fn new(config: &ClientConfig) -> Result<Self, String> {
        <Plain as Protocol>::new(config).map(|_| Self)
    }

    fn condition(&mut self, _: &Key) -> Option<Stamp> {
        Some(Stamp::default())
    }
}

#[test]
fn refusal_of_a_write_sent_again_leaves_it_undecided() {
    let mix = Mix { read: 0.0, update: 1.0, ..Mix::YCSB_C };
    for copies in [1, 2] {
        let workload = WorkloadConfig { conditional: 1.0, ..WorkloadConfig::new(1, mix, 1) };
        let config = ClientConfig {
            retry: Backoff { initial: MILLISECOND, cap: MILLISECOND },
            ..ClientConfig::new(1, Arrivals::Closed { outstanding: 1 })
        };
        let workload = Workload::new(workload).unwrap();
        let mut client = single_key::Client::<Repeating>::new(config, workload).unwrap();
        let mut out = Actions::new();
        client.start(0, &mut out);
        let write = out.frames().next().unwrap().to_vec();
        for copy in 1..copies {
            out.clear();
            client.poll(copy * 2 * MILLISECOND, &mut out);
            assert_eq!(out.frames().next(), Some(&write[..]), "sent again");
        }
        let frame = FrameView::parse(&write).unwrap();
        assert_eq!(frame.op(), Op::Put);
        give(&mut client, 10 * MILLISECOND, &frame.reply(Status::Conflict));
        client.load_mut().workload.set_mix(Mix::YCSB_C).unwrap();
        let mut out = Actions::new();
        client.load_mut().pause();
        client.verify(11 * MILLISECOND, &mut out);
        let read = out.frames().find(|it| FrameView::parse(it).unwrap().op() == Op::Get);
        let read = FrameView::parse(read.unwrap()).unwrap();
        give(&mut client, 12 * MILLISECOND, &read.reply(Status::Ok).with_value(frame.value()));
        // If the write was sent once, its value must not be there.
        let violations = u64::from(copies == 1);
        assert_eq!(
            client.load().judge.history().unwrap().violations,
            violations,
            "{copies} copies"
        );
        assert_eq!(client.counts().conflicts, 1);
    }
}

fn give(client: &mut single_key::Client<Repeating>, now: Nanos, message: &Message<'_>) {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, message);
    client.on_frame(now, &bytes, &mut Actions::new());
}
