//! Rule 1: the store keeps the newest of all writes of a key.

use netkv_roles::Server as _;
use netkv_wire::{Op, Sequence, Status, bits};

use crate::frames::{INCARNATION, INITIAL, Incoming, at};
use crate::rig::Rig;

/// A delayed write arrives after a later one.
///
/// Protection: A write that is not newer than the stored record has no effect.
pub fn delayed_write(rig: &mut Rig) {
    let (late, newer) =
        (Incoming::client(Op::Put, 1, 1, at(5)), Incoming::client(Op::Put, 2, 1, at(7)));
    rig.arrive(&newer);
    rig.arrive(&late);
    rig.expect_done(&newer, at(7));
    rig.expect_done(&late, at(7));
    rig.expect_read(Some((2, 1)), at(7));
    let delete = Incoming::client(Op::Delete, 1, 2, at(6));
    rig.arrive(&delete);
    rig.expect_done(&delete, at(7));
    rig.expect_read(Some((2, 1)), at(7));
    let guarded = rig.server.write_back_stats().guarded;
    rig.expect(guarded, 2, "writes without effect");
}

/// A delete is acknowledged, and then the eviction of an older record arrives.
///
/// Protection: Deletes leave a tombstone with their sequence; RESTORE is guarded like a write.
pub fn eviction_after_a_delete(rig: &mut Rig) {
    let delete = Incoming::client(Op::Delete, 1, 1, at(7));
    rig.arrive(&delete);
    rig.expect_done(&delete, at(7));
    let restore = Incoming::restore(9, (2, 1), at(6));
    rig.arrive(&restore);
    rig.expect_done(&restore, at(7));
    rig.expect_read(None, at(7));
    rig.restart(0);
    let put = Incoming::client(Op::Put, 3, 1, at(5));
    rig.arrive(&put);
    rig.expect_done(&put, at(7));
    rig.expect_read(None, at(7));
}

/// A write passes the switch before its key is cached, and arrives after the evicted record of a
/// later write.
///
/// Protection: Writes of clients are compared with restored records.
pub fn write_after_an_eviction(rig: &mut Rig) {
    let restore = Incoming::restore(9, (2, 1), at(8));
    rig.arrive(&restore);
    rig.expect_done(&restore, at(8));
    let late = Incoming::client(Op::Put, 1, 1, at(3));
    rig.arrive(&late);
    rig.expect_done(&late, at(8));
    rig.expect_read(Some((2, 1)), at(8));
}

/// Numbers wrap and skip 0; the last number of a key may be at the other end of the range.
///
/// Protection: Numbers are compared as serial numbers.
pub fn numbers_at_the_wrap(rig: &mut Rig) {
    let numbers = [0xffff_fffe, 0xffff_ffff, 1, 2];
    for (request, number) in (1..).zip(numbers) {
        let write = Incoming::client(Op::Put, 1, request, at(number));
        rig.arrive(&write);
        rig.expect_done(&write, at(number));
        rig.expect_read(Some((1, request)), at(number));
    }
    let late = Incoming::client(Op::Put, 2, 1, at(0xffff_fffd));
    rig.arrive(&late);
    rig.expect_done(&late, at(2));
    let restore = Incoming::restore(9, (2, 2), at(0xffff_ffff));
    rig.arrive(&restore);
    rig.expect_done(&restore, at(2));
    rig.expect_read(Some((1, 4)), at(2));
    // Any number is newer than that of an unwritten key.
    let first = Incoming::client(Op::Put, 1, 9, at(0x8000_0001)).of_key(2);
    rig.arrive(&first);
    rig.expect_done(&first, at(0x8000_0001));
}

/// The switch loses its state between two writes and starts at number 1; incarnations wrap, too.
///
/// Protection: Incarnations are compared first, as serial numbers, too.
pub fn incarnations_at_the_wrap(rig: &mut Rig) {
    let sequence = |incarnation, number| Sequence { incarnation, number };
    let sequences = [(7, u32::MAX), (9, 1), (u32::MAX / 2 + 3, 5), (u32::MAX, 4), (1, 3)];
    for (request, (incarnation, number)) in (1..).zip(sequences) {
        let write = Incoming::client(Op::Put, 1, request, sequence(incarnation, number));
        rig.arrive(&write);
        rig.expect_done(&write, sequence(incarnation, number));
    }
    let late = Incoming::client(Op::Put, 2, 1, sequence(u32::MAX, 900));
    rig.arrive(&late);
    rig.expect_done(&late, sequence(1, 3));
    rig.expect_read(Some((1, 5)), sequence(1, 3));
}

/// An older write arrives while the store carries out a newer one.
///
/// Protection: Writes of a key wait for the operation under way for it.
pub fn concurrent_writes(rig: &mut Rig) {
    let newer = Incoming::client(Op::Put, 1, 1, at(7));
    let late = Incoming::client(Op::Put, 2, 1, at(5));
    rig.arrive(&Incoming::client(Op::Put, 3, 1, at(1)));
    rig.outgoing.clear();
    rig.hangs = true;
    rig.arrive(&newer);
    rig.arrive(&late);
    let answered = rig.outgoing.len();
    rig.expect(answered, 0, "answers before the store has anything");
    rig.resume();
    rig.expect_done(&newer, at(7));
    rig.expect_done(&late, at(7));
    rig.expect_read(Some((1, 1)), at(7));
}

/// The server fails before the store has a write.
///
/// Protection: A write is answered when the store has it.
pub fn failure_before_the_store_has_it(rig: &mut Rig) {
    rig.hangs = true;
    let write = Incoming::client(Op::Put, 1, 1, at(5));
    rig.arrive(&write); // The server reads the stored sequence.
    rig.finish_one();
    let early = rig.answer(&write);
    rig.expect(early, None, "an answer before the store has it");
    rig.restart(0);
    rig.resume();
    rig.expect_read(INITIAL, Sequence::default());
    // A copy passed the switch later.
    let copy = Incoming::client(Op::Put, 1, 1, at(6));
    rig.arrive(&copy);
    rig.expect_done(&copy, at(6));
    rig.expect_read(Some((1, 1)), at(6));
}

#[test]
fn sequences_that_the_server_has_forgotten_are_looked_up() {
    let mut rig = Rig::new(None);
    let first = Incoming::client(Op::Put, 1, 1, at(70));
    rig.arrive(&first);
    for id in 2..40_000u32 {
        rig.arrive(&Incoming::client(Op::Put, 1, id, at(id)).of_key(id.into()));
    }
    let late = Incoming::client(Op::Put, 2, 1, at(69));
    rig.hangs = true;
    rig.arrive(&late);
    assert_eq!(rig.calls.len(), 1, "the sequence is no longer known");
    rig.resume();
    rig.expect_done(&late, at(70));
    let later = Incoming::client(Op::Put, 2, 2, at(71));
    rig.hangs = true;
    rig.arrive(&later);
    rig.finish_one();
    assert!(rig.calls.is_empty(), "now the sequence is known");
    rig.expect_done(&later, at(71));
    assert_eq!(rig.wrong, [""; 0]);
}

#[test]
fn requests_that_no_switch_has_stamped_or_numbered_are_refused() {
    let mut rig = Rig::new(None);
    for op in [Op::Get, Op::Put, Op::Delete] {
        let incoming = Incoming { stamp: None, ..Incoming::client(op, 1, 1, at(1)) };
        let outgoing = rig.exchange(&incoming).unwrap();
        assert_eq!((outgoing.status, outgoing.stamp), (Status::Rejected, None), "{op:?}");
    }
    for op in [Op::Put, Op::Delete] {
        let outgoing = rig.exchange(&Incoming::client(op, 1, 2, at(0))).unwrap();
        assert_eq!((outgoing.status, outgoing.sequence()), (Status::Rejected, at(0)));
    }
    assert_eq!(rig.stored(), (INITIAL, Sequence::default()));
    // A refused request is not recorded: the same request with a number takes effect.
    let write = Incoming::client(Op::Put, 1, 2, at(1));
    rig.arrive(&write);
    rig.expect_done(&write, at(1));
    assert_eq!((rig.stored(), rig.server.stats().unexpected), ((Some((1, 2)), at(1)), 5));
    assert_eq!(rig.wrong, [""; 0]);
}

#[test]
fn a_write_that_the_store_refuses_changes_nothing() {
    for known in [false, true] {
        let mut rig = Rig::new(None);
        let before = at(3);
        rig.arrive(&Incoming::client(Op::Put, 2, 1, before));
        if !known {
            rig.restart(0);
        }
        rig.refuses = true;
        let writes = [
            Incoming::client(Op::Put, 1, 1, at(5)).with(bits::HOT),
            Incoming::client(Op::Put, 1, 2, at(2)),
            Incoming::client(Op::Delete, 1, 3, at(7)),
        ];
        for write in &writes {
            let outgoing = rig.exchange(write).unwrap();
            assert_eq!(
                (outgoing.status, outgoing.sequence()),
                (Status::Rejected, Sequence::default())
            );
        }
        assert!(rig.offers().is_empty());
        let outgoing = rig.exchange(&Incoming::get(1).of_generation(4)).unwrap();
        assert_eq!(outgoing.stamp.unwrap().generation, 0, "no entry accepts that as a record");
        rig.refuses = false;
        assert_eq!(rig.stored(), (Some((2, 1)), before));
        let write = Incoming::client(Op::Put, 1, 4, at(4));
        rig.arrive(&write);
        rig.expect_done(&write, at(4));
        assert_eq!(rig.server.busy_keys(), 0);
        assert_eq!(rig.wrong, [""; 0]);
    }
}

#[test]
fn too_many_writes_of_one_key_are_refused_and_may_retry() {
    let mut rig = Rig::new(None);
    rig.hangs = true;
    let writes: Vec<Incoming> =
        (1..=12).map(|it| Incoming::client(Op::Put, 1, it, at(it))).collect();
    writes.iter().for_each(|write| rig.arrive(write));
    let restore =
        Incoming::restore(1, (2, 2), Sequence { incarnation: INCARNATION + 1, number: 1 });
    rig.arrive(&restore);
    let refused: Vec<u32> = rig.outgoing.iter().map(|it| it.request).collect();
    assert_eq!(refused, [10, 11, 12], "one is under way, eight wait, the controller retries");
    assert!(rig.outgoing.iter().all(|it| it.status == Status::Overloaded && it.stamp.is_some()));
    rig.resume();
    rig.outgoing.clear();
    let again = Incoming::client(Op::Put, 1, 10, at(20));
    for incoming in [&again, &restore] {
        rig.arrive(incoming);
        rig.expect_done(incoming, incoming.stamp.unwrap().sequence);
    }
    assert_eq!((rig.wrong.len(), rig.server.busy_keys()), (0, 0), "{:?}", rig.wrong);
}

#[test]
fn a_too_large_value_is_refused_permanently() {
    let mut rig = Rig::new(None);
    let large = Incoming::client(Op::Put, 1, 1, at(5)).of_size(1025);
    for _ in 0..2 {
        assert_eq!(rig.exchange(&large).unwrap().status, Status::TooLarge);
    }
    assert_eq!(rig.stored(), (INITIAL, Sequence::default()));
}
