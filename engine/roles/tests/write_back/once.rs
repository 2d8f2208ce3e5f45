//! Every write takes effect once, although the switch gives each copy of it a new number.

use netkv_roles::WINDOW;
use netkv_wire::{Op, Sequence, Status, bits};

use crate::frames::{INCARNATION, INITIAL, Incoming, at};
use crate::rig::Rig;

/// A write times out and is sent again; the copy arrives after another client's write, with a
/// number above it.
///
/// Protection: The server applies each (sender, request) once, whatever number a copy has.
pub fn late_copy_of_a_write(rig: &mut Rig) {
    for (request, op) in [(1, Op::Put), (2, Op::Delete)] {
        let number = request * 100;
        let first = Incoming::client(op, 1, request, at(number));
        let other = Incoming::client(Op::Put, 2, request, at(number + 1));
        rig.arrive(&first);
        rig.arrive(&other);
        rig.outgoing.clear();
        for copy in [first, Incoming::client(op, 1, request, at(number + 2))] {
            rig.arrive(&copy);
            rig.expect_done(&copy, at(number + 1));
        }
        rig.expect_read(Some((2, request)), at(number + 1));
    }
}

/// A copy of a write arrives after another client's write and a restart of the server.
///
/// Protection: The store keeps request numbers over a restart of the server.
pub fn copy_after_a_restart(rig: &mut Rig) {
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(4)));
    rig.arrive(&Incoming::client(Op::Put, 2, 1, at(5)));
    rig.restart(0);
    let copy = Incoming::client(Op::Put, 1, 1, at(6));
    rig.arrive(&copy);
    rig.expect_done(&copy, at(5));
    rig.expect_read(Some((2, 1)), at(5));
}

/// A write arrives after one with a higher number and has no effect. The server restarts before a
/// copy arrives, which has passed the switch later.
///
/// Protection: The store also keeps the numbers of writes without effect.
pub fn copy_of_an_overwritten_write(rig: &mut Rig) {
    rig.arrive(&Incoming::client(Op::Put, 2, 1, at(8)));
    let overwritten = Incoming::client(Op::Put, 1, 1, at(7));
    rig.arrive(&overwritten);
    rig.expect_done(&overwritten, at(8));
    rig.restart(0);
    let copy = Incoming::client(Op::Put, 1, 1, at(9));
    rig.arrive(&copy);
    rig.expect_done(&copy, at(8));
    rig.expect_read(Some((2, 1)), at(8));
}

/// A copy arrives that is older than the server's window.
///
/// Protection: The server treats a request older than its window as a copy.
pub fn very_late_copy_of_a_write(rig: &mut Rig) {
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(4)));
    let last = Incoming::client(Op::Put, 1, 1 + WINDOW, at(5));
    rig.arrive(&last);
    rig.outgoing.clear();
    rig.arrive(&Incoming::client(Op::Put, 1, 1, at(6)));
    let answers = rig.outgoing.len();
    rig.expect(answers, 0, "answers to a late copy");
    rig.expect_read(Some((1, 1 + WINDOW)), at(5));
}

/// The answer to a write is lost.
///
/// Protection: A copy is answered, with the stored sequence of its key.
pub fn lost_answer(rig: &mut Rig) {
    let write = Incoming::client(Op::Put, 1, 1, at(4));
    rig.arrive(&write);
    rig.outgoing.clear();
    let copy = Incoming::client(Op::Put, 1, 1, at(5));
    rig.arrive(&copy);
    rig.expect_done(&copy, at(4));
}

/// A write is sent before the switch loses its memory, and again afterwards. The switch may have
/// applied it and answered reads with it.
///
/// Protection: An unknown PAST write is answered "unknown", permanently.
pub fn write_of_a_past_incarnation(rig: &mut Rig) {
    let incarnation = INCARNATION + 2;
    let now = |number| Sequence { incarnation, number };
    rig.arrive(&Incoming::client(Op::Put, 2, 1, now(1)));
    let past = Incoming::client(Op::Put, 1, 1, now(2)).with(bits::PAST);
    // A copy that passed the old switch may arrive after the answer "unknown".
    let late = Incoming::client(Op::Put, 1, 1, at(7));
    for incoming in [past, past, late] {
        let outgoing = rig.exchange(&incoming).map(|it| (it.status, it.sequence()));
        // The client learns the incarnation; number 0 states nothing about the record.
        let stamp = incoming.stamp.map(|it| Sequence { number: 0, ..it.sequence });
        let expected = stamp.map(|sequence| (Status::Unknown, sequence));
        rig.expect(outgoing, expected, "answer to a past write");
    }
    rig.expect_read(Some((2, 1)), now(1));
    let delete = Incoming::client(Op::Delete, 1, 2, now(3)).with(bits::PAST);
    let outgoing = rig.exchange(&delete).map(|it| it.status);
    rig.expect(outgoing, Some(Status::Unknown), "answer to a past delete");
    rig.expect_read(Some((2, 1)), now(1));
    let unknown = rig.server.write_back_stats().unknown;
    rig.expect(unknown, 2, "writes answered with unknown");
}

/// A write of a past incarnation was applied, before or after the server's restart.
///
/// Protection: A known PAST write is answered like any copy.
pub fn known_past_write(rig: &mut Rig) {
    let write = Incoming::client(Op::Put, 1, 1, at(7));
    rig.arrive(&write);
    let other = Incoming::client(Op::Put, 2, 1, at(8));
    rig.arrive(&other);
    let past =
        Incoming::client(Op::Put, 1, 1, Sequence { incarnation: INCARNATION + 2, number: 1 });
    for _ in 0..2 {
        rig.outgoing.clear();
        rig.arrive(&past.with(bits::PAST));
        rig.expect_done(&past, at(8));
        rig.expect_read(Some((2, 1)), at(8));
        rig.restart(0);
    }
}

#[test]
fn a_past_write_under_way_is_answered_when_it_ends() {
    let mut rig = Rig::new(None);
    rig.hangs = true;
    let write = Incoming::client(Op::Put, 1, 1, at(7));
    rig.arrive(&write);
    let past =
        Incoming::client(Op::Put, 1, 1, Sequence { incarnation: INCARNATION + 2, number: 1 })
            .with(bits::PAST);
    rig.arrive(&past);
    assert!(rig.outgoing.is_empty(), "its effect is not unknown: it is under way");
    rig.resume();
    rig.expect_done(&write, at(7));
    assert_eq!((rig.outgoing.len(), rig.server.write_back_stats().unknown), (1, 0));
    assert_eq!((rig.wrong.len(), rig.stored()), (0, (Some((1, 1)), at(7))));
}

#[test]
fn a_read_of_a_past_incarnation_is_served() {
    let mut rig = Rig::new(None);
    let outgoing = rig.exchange(&Incoming::get(1).with(bits::PAST)).unwrap();
    assert_eq!((outgoing.status, outgoing.content), (Status::Ok, INITIAL));
}

#[test]
fn a_copy_is_not_answered_if_the_store_fails() {
    let mut rig = Rig::new(None);
    let write = Incoming::client(Op::Put, 1, 1, at(7));
    rig.arrive(&write);
    rig.restart(0);
    rig.refuses = true;
    assert_eq!(rig.exchange(&write), None);
    rig.refuses = false;
    rig.arrive(&write);
    rig.expect_done(&write, at(7));
    assert_eq!(rig.wrong, [""; 0]);
}
