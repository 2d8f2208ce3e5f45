//! Rule 1: of all writes of a key the newest stays.

use netkv_roles::Server as _;
use netkv_wire::{Op, Sequence, Status, bits};

use crate::server::ask::{Ask, INCARNATION, INITIAL, at};
use crate::server::rig::Rig;

/// A write that was on its way for long arrives after a later one.
///
/// Protection: A write that is not newer than what is stored has no effect.
pub fn delayed_write(rig: &mut Rig) {
    let (late, newer) = (Ask::client(Op::Put, 1, 1, at(5)), Ask::client(Op::Put, 2, 1, at(7)));
    rig.arrive(&newer);
    rig.arrive(&late);
    rig.expect_done(&newer, at(7));
    rig.expect_done(&late, at(7));
    rig.expect_read(Some((2, 1)), at(7));
    let delete = Ask::client(Op::Delete, 1, 2, at(6));
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
    let delete = Ask::client(Op::Delete, 1, 1, at(7));
    rig.arrive(&delete);
    rig.expect_done(&delete, at(7));
    let restore = Ask::restore(9, (2, 1), at(6));
    rig.arrive(&restore);
    rig.expect_done(&restore, at(7));
    rig.expect_read(None, at(7));
    rig.restart(0);
    let put = Ask::client(Op::Put, 3, 1, at(5));
    rig.arrive(&put);
    rig.expect_done(&put, at(7));
    rig.expect_read(None, at(7));
}

/// A write passes before its key is cached, and arrives after the record of the cache, which a
/// later write has made.
///
/// Protection: Writes of clients are guarded against what was restored.
pub fn write_after_an_eviction(rig: &mut Rig) {
    let restore = Ask::restore(9, (2, 1), at(8));
    rig.arrive(&restore);
    rig.expect_done(&restore, at(8));
    let late = Ask::client(Op::Put, 1, 1, at(3));
    rig.arrive(&late);
    rig.expect_done(&late, at(8));
    rig.expect_read(Some((2, 1)), at(8));
}

/// Numbers go through 0, which is left out; a key may have been written last at the other end of
/// the range.
///
/// Protection: Numbers are compared as serial numbers.
pub fn numbers_at_the_wrap(rig: &mut Rig) {
    let numbers = [0xffff_fffe, 0xffff_ffff, 1, 2];
    for (request, number) in (1..).zip(numbers) {
        let write = Ask::client(Op::Put, 1, request, at(number));
        rig.arrive(&write);
        rig.expect_done(&write, at(number));
        rig.expect_read(Some((1, request)), at(number));
    }
    let late = Ask::client(Op::Put, 2, 1, at(0xffff_fffd));
    rig.arrive(&late);
    rig.expect_done(&late, at(2));
    let restore = Ask::restore(9, (2, 2), at(0xffff_ffff));
    rig.arrive(&restore);
    rig.expect_done(&restore, at(2));
    rig.expect_read(Some((1, 4)), at(2));
    // Whatever the number: nobody has written this one.
    let first = Ask::client(Op::Put, 1, 9, at(0x8000_0001)).of_key(2);
    rig.arrive(&first);
    rig.expect_done(&first, at(0x8000_0001));
}

/// The switch loses its state between two writes and numbers from the start; incarnations pass the
/// end of their range, too.
///
/// Protection: Incarnations are compared first, as serial numbers, too.
pub fn incarnations_at_the_wrap(rig: &mut Rig) {
    let sequence = |incarnation, number| Sequence { incarnation, number };
    let sequences = [(7, u32::MAX), (9, 1), (u32::MAX / 2 + 3, 5), (u32::MAX, 4), (1, 3)];
    for (request, (incarnation, number)) in (1..).zip(sequences) {
        let write = Ask::client(Op::Put, 1, request, sequence(incarnation, number));
        rig.arrive(&write);
        rig.expect_done(&write, sequence(incarnation, number));
    }
    let late = Ask::client(Op::Put, 2, 1, sequence(u32::MAX, 900));
    rig.arrive(&late);
    rig.expect_done(&late, sequence(1, 3));
    rig.expect_read(Some((1, 5)), sequence(1, 3));
}

/// A write waits in the store when an older one arrives.
///
/// Protection: Writes of a key wait for the operation under way for it.
pub fn writes_that_meet(rig: &mut Rig) {
    let newer = Ask::client(Op::Put, 1, 1, at(7));
    let late = Ask::client(Op::Put, 2, 1, at(5));
    rig.arrive(&Ask::client(Op::Put, 3, 1, at(1)));
    rig.said.clear();
    rig.hangs = true;
    rig.arrive(&newer);
    rig.arrive(&late);
    let answered = rig.said.len();
    rig.expect(answered, 0, "answers before the store has anything");
    rig.resume();
    rig.expect_done(&newer, at(7));
    rig.expect_done(&late, at(7));
    rig.expect_read(Some((1, 1)), at(7));
}

/// The server fails before the store has a write.
///
/// Protection: A write is answered when the store has it.
pub fn death_before_the_store_has_it(rig: &mut Rig) {
    rig.hangs = true;
    let write = Ask::client(Op::Put, 1, 1, at(5));
    rig.arrive(&write); // The server asks what is stored.
    rig.finish_one();
    let early = rig.answer(&write);
    rig.expect(early, None, "an answer before the store has it");
    rig.restart(0);
    rig.resume();
    rig.expect_read(INITIAL, Sequence::default());
    // A copy has passed the switch later.
    let copy = Ask::client(Op::Put, 1, 1, at(6));
    rig.arrive(&copy);
    rig.expect_done(&copy, at(6));
    rig.expect_read(Some((1, 1)), at(6));
}

#[test]
fn sequences_that_the_server_has_forgotten_are_looked_up() {
    let mut rig = Rig::new(None);
    let first = Ask::client(Op::Put, 1, 1, at(70));
    rig.arrive(&first);
    for id in 2..40_000u32 {
        rig.arrive(&Ask::client(Op::Put, 1, id, at(id)).of_key(id.into()));
    }
    let late = Ask::client(Op::Put, 2, 1, at(69));
    rig.hangs = true;
    rig.arrive(&late);
    assert_eq!(rig.calls.len(), 1, "it is not known any more");
    rig.resume();
    rig.expect_done(&late, at(70));
    let later = Ask::client(Op::Put, 2, 2, at(71));
    rig.hangs = true;
    rig.arrive(&later);
    rig.finish_one();
    assert!(rig.calls.is_empty(), "and now it is");
    rig.expect_done(&later, at(71));
    assert_eq!(rig.wrong, [""; 0]);
}

#[test]
fn requests_that_no_switch_has_stamped_or_numbered_are_refused() {
    let mut rig = Rig::new(None);
    for op in [Op::Get, Op::Put, Op::Delete] {
        let ask = Ask { stamp: None, ..Ask::client(op, 1, 1, at(1)) };
        let said = rig.ask(&ask).unwrap();
        assert_eq!((said.status, said.stamp), (Status::Rejected, None), "{op:?}");
    }
    for op in [Op::Put, Op::Delete] {
        let said = rig.ask(&Ask::client(op, 1, 2, at(0))).unwrap();
        assert_eq!((said.status, said.sequence()), (Status::Rejected, Sequence::default()));
    }
    assert_eq!(rig.stored(), (INITIAL, Sequence::default()));
    // What was refused is not taken for done: the same request, numbered, has its effect.
    let write = Ask::client(Op::Put, 1, 2, at(1));
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
        rig.arrive(&Ask::client(Op::Put, 2, 1, before));
        if !known {
            rig.restart(0);
        }
        rig.refuses = true;
        let writes = [
            Ask::client(Op::Put, 1, 1, at(5)).with(bits::HOT),
            Ask::client(Op::Put, 1, 2, at(2)),
            Ask::client(Op::Delete, 1, 3, at(7)),
        ];
        for write in &writes {
            let said = rig.ask(write).unwrap();
            assert_eq!((said.status, said.sequence()), (Status::Rejected, Sequence::default()));
        }
        assert!(rig.offers().is_empty());
        let said = rig.ask(&Ask::get(1).of_generation(4)).unwrap();
        assert_eq!(said.stamp.unwrap().generation, 0, "no entry takes that for a record");
        rig.refuses = false;
        assert_eq!(rig.stored(), (Some((2, 1)), before));
        let write = Ask::client(Op::Put, 1, 4, at(4));
        rig.arrive(&write);
        rig.expect_done(&write, at(4));
        assert_eq!(rig.server.busy_keys(), 0);
        assert_eq!(rig.wrong, [""; 0]);
    }
}

#[test]
fn too_many_writes_of_one_key_are_sent_away_and_may_come_again() {
    let mut rig = Rig::new(None);
    rig.hangs = true;
    let writes: Vec<Ask> = (1..=12).map(|it| Ask::client(Op::Put, 1, it, at(it))).collect();
    writes.iter().for_each(|write| rig.arrive(write));
    let restore = Ask::restore(1, (2, 2), Sequence { incarnation: INCARNATION + 1, number: 1 });
    rig.arrive(&restore);
    let refused: Vec<u32> = rig.said.iter().map(|it| it.request).collect();
    assert_eq!(refused, [10, 11, 12], "one is under way, eight wait, the controller asks again");
    assert!(rig.said.iter().all(|it| it.status == Status::Overloaded && it.stamp.is_some()));
    rig.resume();
    rig.said.clear();
    let again = Ask::client(Op::Put, 1, 10, at(20));
    for ask in [&again, &restore] {
        rig.arrive(ask);
        rig.expect_done(ask, ask.stamp.unwrap().sequence);
    }
    assert_eq!((rig.wrong.len(), rig.server.busy_keys()), (0, 0), "{:?}", rig.wrong);
}

#[test]
fn a_value_that_no_system_stores_is_refused_for_good() {
    let mut rig = Rig::new(None);
    let large = Ask::client(Op::Put, 1, 1, at(5)).of_size(1025);
    for _ in 0..2 {
        assert_eq!(rig.ask(&large).unwrap().status, Status::TooLarge);
    }
    assert_eq!(rig.stored(), (INITIAL, Sequence::default()));
}
