//! Reads: what the switch hears of the record, and the record that it sends along.

use netkv_wire::{Op, Sequence, Stamp, Status, bits};

use crate::server::ask::{Ask, at};
use crate::server::rig::Rig;

/// A write is acknowledged by the switch and its eviction has not come yet: a read brings the
/// record along.
///
/// Protection: A read with an embedded record is answered with the newer of embedded and stored
/// record.
pub fn read_of_an_evicted_record(rig: &mut Rig) {
    rig.arrive(&Ask::client(Op::Put, 1, 1, at(5)));
    let read = Ask::get(1).embedding((2, 1), at(6));
    let said = rig.ask(&read).map(|it| (it.status, it.content, it.sequence()));
    rig.expect(said, Some((Status::Ok, Some((2, 1)), at(6))), "read with a newer record");
    let said = rig.answer(&read).and_then(|it| it.stamp).map(|it| it.bits);
    rig.expect(said, Some(bits::EMBEDDED), "bits of the answer");
    // It is the answer only: the store has what it had, and an older write does not know of it.
    rig.expect_read(Some((1, 1)), at(5));
}

/// A delete that the switch acknowledged during an eviction is read at the server.
///
/// Protection: An embedded tombstone is compared in the same way.
pub fn read_of_an_evicted_tombstone(rig: &mut Rig) {
    rig.arrive(&Ask::client(Op::Put, 1, 1, at(5)));
    let read = Ask::get(1).embedding((0, 0), at(6)).with(bits::DELETED).of_size(0);
    let said = rig.ask(&read).map(|it| (it.status, it.content, it.sequence()));
    rig.expect(said, Some((Status::NotFound, None, at(6))), "read with a newer tombstone");
    rig.expect_read(Some((1, 1)), at(5));
}

/// The record that a read brings along was overwritten by a write that went to the server.
///
/// Protection: The stored record is the answer if it is newer or equal, deleted or not.
pub fn read_with_an_outdated_record(rig: &mut Rig) {
    for (request, op) in [(1, Op::Put), (2, Op::Delete)] {
        let stored = at(10 * request + 9);
        rig.arrive(&Ask::client(op, 1, request, stored));
        let right = if op == Op::Put { Some((1, request)) } else { None };
        let status = if op == Op::Put { Status::Ok } else { Status::NotFound };
        for number in [10 * request + 8, 10 * request + 9] {
            let read = Ask::get(number).embedding((2, 1), at(number));
            let said = rig.ask(&read).map(|it| (it.status, it.content, it.sequence()));
            rig.expect(said, Some((status, right, stored)), "read with a record no newer");
            let said = rig.answer(&read).and_then(|it| it.stamp).map(|it| it.has(bits::EMBEDDED));
            rig.expect(said, Some(false), "whether the embedded record was the answer");
        }
    }
}

/// Which record is newer is a matter of serial numbers here, too.
///
/// Protection: Embedded records are compared by serial numbers.
pub fn embedded_record_at_the_wrap(rig: &mut Rig) {
    let old = at(u32::MAX);
    rig.arrive(&Ask::client(Op::Put, 1, 1, old));
    let read = Ask::get(1).embedding((2, 1), at(3));
    let said = rig.ask(&read).map(|it| (it.content, it.sequence()));
    rig.expect(said, Some((Some((2, 1)), at(3))), "read with a newer record");
    let write = Ask::client(Op::Put, 1, 2, at(4));
    rig.arrive(&write);
    let read = Ask::get(2).embedding((2, 1), old);
    let said = rig.ask(&read).map(|it| (it.content, it.sequence()));
    rig.expect(said, Some((Some((1, 2)), at(4))), "read with an older record");
}

#[test]
fn replies_have_the_stored_sequence_and_the_generation() {
    let mut rig = Rig::new(None);
    let stamp = |sequence, bits| Some(Stamp { sequence, generation: 77, bits });
    let mut check = |ask: Ask, status: Status, expected| {
        let said = rig.ask(&ask.of_generation(77)).unwrap();
        assert_eq!((said.status, said.stamp), (status, expected), "{ask:?}");
    };
    let nobody = Sequence::default();
    check(Ask::get(1), Status::Ok, stamp(nobody, 0));
    check(Ask::get(2).of_key(99), Status::NotFound, stamp(nobody, 0));
    check(Ask::client(Op::Put, 1, 1, at(5)), Status::Ok, stamp(at(5), 0));
    check(Ask::get(3), Status::Ok, stamp(at(5), 0));
    check(Ask::client(Op::Delete, 1, 2, at(6)), Status::Ok, stamp(at(6), 0));
    check(Ask::get(4), Status::NotFound, stamp(at(6), bits::DELETED));
    check(Ask::client(Op::Put, 1, 3, at(4)), Status::Ok, stamp(at(6), 0));
    check(Ask::client(Op::Put, 1, 1, at(9)), Status::Ok, stamp(at(6), 0));
    // What the request brings along says nothing about the stored record.
    check(
        Ask::get(5).with(bits::PAST | bits::LATEST),
        Status::NotFound,
        stamp(at(6), bits::DELETED),
    );
}

#[test]
fn reads_are_served_while_a_write_waits_for_the_store() {
    let mut rig = Rig::new(None);
    rig.arrive(&Ask::client(Op::Put, 2, 1, at(4)));
    rig.hangs = true;
    rig.arrive(&Ask::client(Op::Put, 1, 1, at(5)));
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
fn a_value_that_no_switch_caches_is_read_whole() {
    let mut rig = Rig::new(None);
    rig.arrive(&Ask::client(Op::Put, 1, 1, at(5)).of_size(1024));
    rig.expect_read(Some((1, 1)), at(5));
    assert_eq!(rig.wrong, [""; 0]);
}
