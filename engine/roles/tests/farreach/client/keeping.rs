//! Traps about preserved records and accepted answers.

use netkv_roles::Client as _;
use netkv_roles::SECOND;
use netkv_wire::{FrameView, Op, Status, bits};

use crate::client::play::{
    CollectedRecord, INCARNATION, Play, at, initial_value_of, key, op_of, stamp, stamp_of,
};

/// The switch has the only copy of what was read: the acknowledgement of the write was lost.
///
/// Protection: A read of a record that only the switch has is preserved.
pub fn read(play: &mut Play) {
    let value = initial_value_of(key(1));
    let read = play.read(key(1));
    play.hit(&read, at(INCARNATION, 9), Some(&value));
    let clean = play.read(key(2));
    play.answer(&clean, stamp(at(INCARNATION, 3), 0), Some(&initial_value_of(key(2))), true);
    let collected = play.collect(INCARNATION + 2);
    let seen = CollectedRecord { key: key(1), sequence: at(INCARNATION, 9), value: Some(value) };
    play.expect(
        collected == [seen],
        "exactly the read record that only the switch has is collected",
    );
}

/// A write that outdated the entry is lost on its way to the server, and a read is answered with
/// the embedded record.
///
/// Protection: A read that a server answered with an embedded record is preserved, too.
pub fn embedded(play: &mut Play) {
    let value = initial_value_of(key(1));
    let read = play.read(key(1));
    play.answer(&read, stamp(at(INCARNATION, 9), bits::EMBEDDED), Some(&value), false);
    let collected = play.collect(INCARNATION + 2);
    let seen = CollectedRecord { key: key(1), sequence: at(INCARNATION, 9), value: Some(value) };
    play.expect(collected == [seen], "the read record is collected");
}

/// A delete that only the switch has: acknowledged by the switch, or found by a read.
///
/// Protection: A delete is preserved as a record.
pub fn delete(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 7));
    let delete = play.delete(key(1));
    play.hit(&delete, at(INCARNATION, 8), None);
    let read = play.read(key(2));
    play.answer(&read, stamp(at(INCARNATION, 9), bits::DIRTY | bits::DELETED), None, true);
    let collected = play.collect(INCARNATION + 2);
    let gone =
        |key, number| CollectedRecord { key, sequence: at(INCARNATION, number), value: None };
    let expected = [gone(key(1), 8), gone(key(2), 9)];
    let all = collected.len() == 2 && expected.iter().all(|it| collected.contains(it));
    play.expect(all, "a deleted key is collected as deleted");
}

/// Answers to two clients of the process are reordered, also where numbers wrap and between
/// incarnations.
///
/// Protection: The record with the newer sequence is kept.
pub fn late_answer(play: &mut Play) {
    let orders = [
        (key(1), at(INCARNATION, 9), at(INCARNATION, 7)),
        (key(2), at(INCARNATION, 3), at(INCARNATION, u32::MAX - 3)),
        (key(3), at(INCARNATION + 1, 2), at(INCARNATION, 7)),
    ];
    for (key, newer, older) in orders {
        let (first, second) = (play.write(key), play.write(key));
        play.hit(&second, newer, None);
        play.hit(&first, older, None);
        let value = FrameView::parse(&second).unwrap().value().to_vec();
        play.expect(play.client.outstanding() == 0, "both are answered");
        let collected = CollectedRecord { key, sequence: newer, value: Some(value) };
        play.newest.push(collected);
    }
    let collected = play.collect(INCARNATION + 3);
    let newest = std::mem::take(&mut play.newest);
    play.expect(collected.iter().all(|it| newest.contains(it)), "the newest record is collected");
}

/// The controller does not know the process yet, so it would not collect preserved records.
///
/// Protection: Before HELLO is answered, the client ignores answers with records that only the
/// switch has.
pub fn before_hello_is_answered(play: &mut Play) {
    let value = initial_value_of(key(1));
    play.client.crash(play.now, &mut play.out);
    play.poll();
    let read = play.read(key(1));
    play.hit(&read, at(INCARNATION, 9), Some(&value));
    let completed = play.counts().completed;
    play.expect(
        completed == 0,
        "a record that would not be collected is not accepted as an answer",
    );
    play.answer_hello(INCARNATION);
    if let Some(again) = play.wait(SECOND).first() {
        play.hit(again, at(INCARNATION, 9), Some(&value));
    }
    play.expect(play.client.outstanding() == 0 && play.kept() == 1, "then it is kept");
}

/// HELLO is lost on its way.
///
/// Protection: HELLO is repeated until answered.
pub fn lost_hello(play: &mut Play) {
    play.client.crash(play.now, &mut play.out);
    play.poll();
    play.registrations.clear();
    play.wait(2 * SECOND);
    let again = play.registrations.iter().filter(|it| op_of(it) == Op::Hello).count();
    play.expect(again > 1, "HELLO is repeated until it is answered");
}

/// The switch fails, and a write is sent again to the next one.
///
/// Protection: A retry has the version stamp of the first transmission.
pub fn retry(play: &mut Play) {
    let write = play.write(key(1));
    let first = stamp_of(&write);
    play.expect(first == Some(stamp(at(INCARNATION, 0), 0)), "it has the known incarnation");
    play.collect(INCARNATION + 2);
    play.recovered(INCARNATION + 2);
    let again = play.wait(SECOND);
    play.expect(!again.is_empty(), "it is sent again");
    play.expect(again.iter().all(|it| *it == write), "unchanged");
    let next = stamp_of(&play.write(key(2)));
    play.expect(
        next == Some(stamp(at(INCARNATION + 2, 0), 0)),
        "the next one has the new incarnation",
    );
}

/// The switch fails, and it is unknown whether it applied a write.
///
/// Protection: The client gives up a write that is answered `unknown`.
pub fn unknown_write(play: &mut Play) {
    let value = initial_value_of(key(1));
    let write = play.write(key(1));
    let frame = FrameView::parse(&write).unwrap();
    play.arrive(&frame.reply(Status::Unknown).with_stamp(stamp(at(0, 0), 0)));
    play.expect(play.client.outstanding() == 0, "it has ended");
    let read = play.read(key(1));
    play.miss(&read, at(0, 0), Some(&value));
    let counts = play.counts();
    play.expect(counts.stale_reads == 0, "a write with unknown effect was not acknowledged");
    play.expect(counts.writes == 0 && counts.completed == 1, "it was not answered");
    play.expect(counts.unknown == 1 && counts.errors == 0, "it is counted");
}
