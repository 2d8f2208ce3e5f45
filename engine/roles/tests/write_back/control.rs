//! Rule 5: RESTORE and FETCH.

use netkv_roles::kits::plain;
use netkv_roles::kits::single_key::ServerConfig;
use netkv_roles::kits::write_back::Server;
use netkv_roles::netcache;
use netkv_roles::{Actions, SECOND, StoreOp, StoreResult};
use netkv_wire::{CONTROLLER_SENDER, FrameView, Op, Sequence, Stamp, Status, bits, partition};
use netkv_workload::key_of;

use crate::frames::{INITIAL, Incoming, at};
use crate::rig::Rig;

/// The record of an evicted entry or of a snapshot arrives at the server, which has a newer one.
///
/// Protection: RESTORE stores only newer records.
pub fn older_record(rig: &mut Rig) {
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(7)));
    for (request, number) in [(1, 6), (2, 7)] {
        let restore = Incoming::restore(request, (2, 1), at(number));
        rig.arrive(&restore);
        rig.expect_done(&restore, at(7));
    }
    let tombstone = Incoming::restore(3, (2, 1), at(5)).with(bits::DELETED).of_size(0);
    rig.arrive(&tombstone);
    rig.expect_done(&tombstone, at(7));
    rig.expect_read(Some((1, 1)), at(7));
    let restored = rig.server.write_back_stats().restored;
    rig.expect(restored, 0, "records restored");
}

/// A late copy of RESTORE arrives after a later write of a client.
///
/// Protection: RESTORE stores only newer records, so its copy has no effect.
pub fn late_copy_of_a_restore(rig: &mut Rig) {
    let restore = Incoming::restore(1, (2, 1), at(6));
    rig.arrive(&restore);
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(7)));
    rig.outgoing.clear();
    rig.arrive(&restore);
    rig.expect_done(&restore, at(7));
    rig.expect_read(Some((1, 1)), at(7));
}

/// The controller frees an entry as soon as RESTORE is answered; then the server fails.
///
/// Protection: RESTORE is answered when the store has it.
pub fn failure_before_a_record_is_stored(rig: &mut Rig) {
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(5)));
    rig.hangs = true;
    let restore = Incoming::restore(1, (2, 1), at(6));
    for _ in 0..2 {
        rig.arrive(&restore);
        let early = rig.answer(&restore);
        rig.expect(early, None, "an answer before the store has it");
    }
    rig.resume();
    rig.expect_done(&restore, at(6));
    rig.restart(0);
    rig.expect_read(Some((2, 1)), at(6));
}

#[test]
fn a_newer_record_is_stored_and_its_copy_changes_nothing() {
    let mut rig = Rig::new(None);
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(5)));
    let restore = Incoming::restore(1, (2, 1), at(6));
    for _ in 0..2 {
        let outgoing = rig.exchange(&restore).unwrap();
        let stamp = Stamp { sequence: at(6), ..Stamp::default() };
        assert_eq!((outgoing.status, outgoing.stamp), (Status::Ok, Some(stamp)));
        assert_eq!(rig.stored(), (Some((2, 1)), at(6)));
    }
    let tombstone = Incoming::restore(2, (2, 2), at(7)).with(bits::DELETED).of_size(0);
    assert_eq!(rig.exchange(&tombstone).unwrap().sequence(), at(7));
    assert_eq!(rig.stored(), (None, at(7)));
    assert_eq!((rig.server.write_back_stats().restored, rig.server.tombstones()), (2, 1));
    assert!(!rig.store.applied().knows(CONTROLLER_SENDER), "RESTORE needs no memory");
}

#[test]
fn a_record_that_the_store_refuses_is_not_acknowledged() {
    let mut rig = Rig::new(None);
    rig.refuses = true;
    let restore = Incoming::restore(1, (2, 1), at(6));
    assert_eq!(rig.exchange(&restore), None);
    assert_eq!(rig.exchange(&Incoming::control(Op::Fetch, 2, at(0))), None);
    rig.refuses = false;
    assert_eq!(rig.exchange(&restore).unwrap().sequence(), at(6));
    assert_eq!(rig.stored(), (Some((2, 1)), at(6)));
}

#[test]
fn fetch_returns_every_kind_of_record() {
    let mut rig = Rig::new(None);
    let fetch = |rig: &mut Rig, id: u64| {
        let incoming =
            Incoming { stamp: None, ..Incoming::control(Op::Fetch, 9, at(0)).of_key(id) };
        let outgoing = rig.exchange(&incoming).unwrap();
        let stamp = outgoing.stamp.expect("every answer is stamped");
        (outgoing.status, outgoing.content, stamp.sequence, stamp.bits)
    };
    let no_sequence = Sequence::default();
    assert_eq!(fetch(&mut rig, 1), (Status::Ok, INITIAL, no_sequence, 0));
    assert_eq!(fetch(&mut rig, 99), (Status::NotFound, None, no_sequence, 0));
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(5)).of_size(128));
    assert_eq!(fetch(&mut rig, 1), (Status::Ok, Some((1, 1)), at(5), 0));
    rig.arrive(&Incoming::client(Op::Put, 1, 2, at(6)).of_size(129));
    assert_eq!(fetch(&mut rig, 1), (Status::TooLarge, None, at(6), 0));
    rig.arrive(&Incoming::client(Op::Delete, 1, 3, at(7)));
    assert_eq!(fetch(&mut rig, 1), (Status::NotFound, None, at(7), bits::DELETED));
}

#[test]
fn reserved_keys_and_keys_of_other_servers_are_refused() {
    let mut rig = Rig::new(None);
    let key = *b"netkv:data-set:1";
    for incoming in [Incoming::restore(1, (2, 1), at(6)), Incoming::control(Op::Fetch, 2, at(0))] {
        assert_eq!(rig.exchange(&Incoming { key, ..incoming }).unwrap().status, Status::Rejected);
    }
    rig.arrive(&Incoming { stamp: None, ..Incoming::restore(3, (2, 1), at(6)) });
    rig.arrive(&Incoming::restore(4, (2, 1), at(6)).of_size(1025));
    assert_eq!((rig.store.written(), rig.server.stats().malformed), (0, 1));
    let other = ServerConfig::new(1 - partition(&key_of(1), 2), 2);
    rig.server = Server::new(other, rig.now);
    for op in [Op::Restore, Op::Fetch] {
        assert_eq!(rig.exchange(&Incoming::control(op, 5, at(6))), None);
    }
    assert_eq!(rig.server.stats().wrong_partition, 2);
}

#[test]
fn messages_of_other_schemes_have_no_effect() {
    let others: [Box<dyn netkv_roles::Server>; 2] = [
        Box::new(plain::Server::new(ServerConfig::new(0, 1), 0)),
        Box::new(netcache::Server::new(ServerConfig::new(0, 1), 0)),
    ];
    for mut server in others {
        let mut out = Actions::new();
        for op in [Op::Restore, Op::Fetch, Op::Watermark, Op::OfferReply] {
            server.on_frame(SECOND, &Incoming::control(op, 1, at(6)).frame(), &mut out);
        }
        assert!(out.is_empty());
        assert!(server.counts().contains(&("unexpected", 4)));
        // A client may stamp its requests; the stamp has no meaning here.
        let write = Incoming::client(Op::Put, 1, 1, at(6)).with(bits::HOT).frame();
        server.on_frame(10 * SECOND, &write, &mut out);
        let call = out.calls().next().unwrap();
        assert_eq!((call.op, call.sequence), (StoreOp::Put, None));
        let id = call.id;
        out.clear();
        server.on_stored(10 * SECOND, id, StoreResult::Done, &mut out);
        let reply = FrameView::parse(out.frames().next().unwrap()).unwrap();
        assert_eq!((reply.status(), reply.stamp()), (Status::Ok, None));
    }
    let mut rig = Rig::new(None);
    for op in [Op::InvalidateReply, Op::UpdateReply, Op::OutgrownReply, Op::Collect] {
        rig.arrive(&Incoming::control(op, 1, at(6)));
    }
    assert_eq!((rig.outgoing.len(), rig.server.stats().unexpected), (0, 4));
}
