//! Reads: the stamps of replies, and records that the switch embeds in reads.

use netkv_wire::{Op, Sequence, Stamp, Status, bits};

use crate::frames::{Incoming, at};
use crate::rig::Rig;

/// A write was acknowledged by the switch, and the evicted record has not arrived yet. A read has
/// the record embedded.
///
/// Protection: A read with an embedded record is answered with the newer of embedded and stored
/// record.
pub fn read_of_an_evicted_record(rig: &mut Rig) {
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(5)));
    let read = Incoming::get(1).embedding((2, 1), at(6));
    let outgoing = rig.exchange(&read).map(|it| (it.status, it.content, it.sequence()));
    rig.expect(outgoing, Some((Status::Ok, Some((2, 1)), at(6))), "read with a newer record");
    let outgoing = rig.answer(&read).and_then(|it| it.stamp).map(|it| it.bits);
    rig.expect(outgoing, Some(bits::EMBEDDED), "bits of the answer");
    // The embedded record is the answer, but is not stored.
    rig.expect_read(Some((1, 1)), at(5));
}

/// A delete that the switch acknowledged during an eviction is read at the server.
///
/// Protection: An embedded tombstone is compared in the same way.
pub fn read_of_an_evicted_tombstone(rig: &mut Rig) {
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(5)));
    let read = Incoming::get(1).embedding((0, 0), at(6)).with(bits::DELETED).of_size(0);
    let outgoing = rig.exchange(&read).map(|it| (it.status, it.content, it.sequence()));
    rig.expect(outgoing, Some((Status::NotFound, None, at(6))), "read with a newer tombstone");
    rig.expect_read(Some((1, 1)), at(5));
}

/// The record embedded in a read was overwritten by a write at the server.
///
/// Protection: The stored record is the answer if it is newer or equal, deleted or not.
pub fn read_with_an_outdated_record(rig: &mut Rig) {
    for (request, op) in [(1, Op::Put), (2, Op::Delete)] {
        let stored = at(10 * request + 9);
        rig.arrive(&Incoming::client(op, 1, request, stored));
        let right = if op == Op::Put { Some((1, request)) } else { None };
        let status = if op == Op::Put { Status::Ok } else { Status::NotFound };
        for number in [10 * request + 8, 10 * request + 9] {
            let read = Incoming::get(number).embedding((2, 1), at(number));
            let outgoing = rig.exchange(&read).map(|it| (it.status, it.content, it.sequence()));
            rig.expect(outgoing, Some((status, right, stored)), "read with a record no newer");
            let outgoing =
                rig.answer(&read).and_then(|it| it.stamp).map(|it| it.has(bits::EMBEDDED));
            rig.expect(outgoing, Some(false), "whether the embedded record was the answer");
        }
    }
}

/// The sequences of the embedded and the stored record are on both sides of the wrap.
///
/// Protection: Embedded records are compared by serial numbers.
pub fn embedded_record_at_the_wrap(rig: &mut Rig) {
    let old = at(u32::MAX);
    rig.arrive(&Incoming::client(Op::Put, 1, 1, old));
    let read = Incoming::get(1).embedding((2, 1), at(3));
    let outgoing = rig.exchange(&read).map(|it| (it.content, it.sequence()));
    rig.expect(outgoing, Some((Some((2, 1)), at(3))), "read with a newer record");
    let write = Incoming::client(Op::Put, 1, 2, at(4));
    rig.arrive(&write);
    let read = Incoming::get(2).embedding((2, 1), old);
    let outgoing = rig.exchange(&read).map(|it| (it.content, it.sequence()));
    rig.expect(outgoing, Some((Some((1, 2)), at(4))), "read with an older record");
}

#[test]
fn replies_have_the_stored_sequence_and_the_generation() {
    let mut rig = Rig::new(None);
    let stamp = |sequence, bits| Some(Stamp { sequence, generation: 77, bits });
    let mut check = |incoming: Incoming, status: Status, expected| {
        let outgoing = rig.exchange(&incoming.of_generation(77)).unwrap();
        assert_eq!((outgoing.status, outgoing.stamp), (status, expected), "{incoming:?}");
    };
    let no_sequence = Sequence::default();
    check(Incoming::get(1), Status::Ok, stamp(no_sequence, 0));
    check(Incoming::get(2).of_key(99), Status::NotFound, stamp(no_sequence, 0));
    check(Incoming::client(Op::Put, 1, 1, at(5)), Status::Ok, stamp(at(5), 0));
    check(Incoming::get(3), Status::Ok, stamp(at(5), 0));
    check(Incoming::client(Op::Delete, 1, 2, at(6)), Status::Ok, stamp(at(6), 0));
    check(Incoming::get(4), Status::NotFound, stamp(at(6), bits::DELETED));
    check(Incoming::client(Op::Put, 1, 3, at(4)), Status::Ok, stamp(at(6), 0));
    check(Incoming::client(Op::Put, 1, 1, at(9)), Status::Ok, stamp(at(6), 0));
    // Bits of the request do not affect those of the reply.
    check(
        Incoming::get(5).with(bits::PAST | bits::LATEST),
        Status::NotFound,
        stamp(at(6), bits::DELETED),
    );
}

#[test]
fn reads_are_served_while_a_write_waits_for_the_store() {
    let mut rig = Rig::new(None);
    rig.arrive(&Incoming::client(Op::Put, 2, 1, at(4)));
    rig.hangs = true;
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(5)));
    let write = rig.calls.pop_front().expect("it is being stored");
    rig.hangs = false;
    rig.expect_read(Some((2, 1)), at(4));
    rig.hangs = true;
    rig.calls.push_back(write);
    rig.resume();
    rig.expect_read(Some((1, 1)), at(5));
    assert_eq!(rig.wrong, [""; 0]);
}

#[test]
fn a_value_too_large_for_the_switch_is_read_completely() {
    let mut rig = Rig::new(None);
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(5)).of_size(1024));
    rig.expect_read(Some((1, 1)), at(5));
    assert_eq!(rig.wrong, [""; 0]);
}
