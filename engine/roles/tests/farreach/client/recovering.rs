//! Traps about the recovery after a failure of the switch: COLLECT and RECOVERED.

use netkv_roles::Client as _;
use netkv_wire::bits;

use crate::client::play::{INCARNATION, Play, at, initial_value_of, key, stamp};

/// Incarnation of the next switch, and of the one after that.
const NEXT: u32 = INCARNATION + 2;
const LAST: u32 = INCARNATION + 4;

/// The records exceed one answer. An earlier list and answers of the next switch arrive between the
/// pages.
///
/// Protection: COLLECT freezes the records that are sent.
pub fn collect_in_pages(play: &mut Play) {
    for id in 0..40 {
        play.write_hit(key(id), at(INCARNATION, 9 + id as u32));
    }
    let (first, count) = play.page(NEXT, 0).unwrap();
    play.expect(count == 40 && first.len() < 40, "one answer has not all of them");
    // The list of the last snapshot is late, and a read is answered in the new incarnation.
    play.release(1, &[(key(0), at(INCARNATION, 9)), (key(30), at(INCARNATION, 39))]);
    let read = play.read(key(50));
    play.hit(&read, at(NEXT, 1), Some(&initial_value_of(key(50))));
    let (again, _) = play.page(NEXT, 0).unwrap();
    play.expect(again == first, "a copy of COLLECT gets the same answer");
    let mut collected = first;
    while collected.len() < count as usize {
        let from = collected.len() as u32;
        let (page, of) = play.page(NEXT, from).unwrap();
        if page.is_empty() || of != count {
            play.expect(false, "the length of the list does not change");
            break;
        }
        collected.extend(page);
    }
    collected.sort_by_key(|it| it.sequence.number);
    let numbers: Vec<u32> = collected.iter().map(|it| it.sequence.number).collect();
    let all: Vec<u32> = (9..49).collect();
    play.expect(numbers == all, "all of them are collected, each once");
    let beyond = play.page(NEXT, 40);
    play.expect(beyond == Some((vec![], count)), "the page after the last record is empty");
}

/// The controller fails after COLLECT; the next one collects for a later incarnation.
///
/// Protection: The client drops records at RECOVERED, not at COLLECT.
pub fn controller_fails_after_collect(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    let first = play.collect(NEXT);
    let second = play.collect(LAST);
    play.expect(first == second, "records that were not recovered are collected again");
    play.expect(second.len() == 1, "there is a record to collect");
    play.recovered(LAST);
    play.expect(play.kept() == 0, "recovered records are released");
}

/// An answer of the failed switch arrives after the records were collected.
///
/// Protection: Answers of a switch of an incarnation before the last COLLECT are ignored.
pub fn answer_of_a_failed_switch(play: &mut Play) {
    let (write, read) = (play.write(key(1)), play.read(key(2)));
    play.collect(NEXT);
    play.hit(&write, at(INCARNATION, 9), None);
    play.hit(&read, at(INCARNATION, 10), Some(&initial_value_of(key(2))));
    let embedded = stamp(at(INCARNATION, 11), bits::EMBEDDED);
    play.answer(&read, embedded, Some(&initial_value_of(key(2))), false);
    let counts = play.counts();
    play.expect(counts.completed == 0, "an answer whose record was not collected is ignored");
    play.expect(play.client.outstanding() == 2, "they are sent again");
    play.recovered(NEXT);
    play.hit(&read, at(INCARNATION, 10), Some(&initial_value_of(key(2))));
    play.expect(play.client.outstanding() == 2, "it is ignored after the recovery, too");
    play.expect(play.counts().ignored == 4, "they are counted");
    // Servers lose nothing: their answers are accepted at any time.
    play.miss(&write, at(INCARNATION, 12), None);
    play.expect(play.client.outstanding() == 1, "an answer of a server is accepted");
    play.hit(&read, at(NEXT, 1), Some(&initial_value_of(key(2))));
    play.expect(play.client.outstanding() == 0, "an answer of the new switch is accepted");
}

/// The next switch has clean records of earlier incarnations, filled from the servers.
///
/// Protection: Clean records of earlier incarnations are accepted.
pub fn clean_record(play: &mut Play) {
    play.collect(NEXT);
    play.recovered(NEXT);
    for sequence in [at(0, 0), at(INCARNATION, 3)] {
        let read = play.read(key(1));
        play.answer(&read, stamp(sequence, 0), Some(&initial_value_of(key(1))), true);
    }
    play.expect(play.client.outstanding() == 0, "a clean record is accepted");
    play.expect(play.kept() == 0, "and is not preserved");
}

/// A record stays in the switch while the incarnation is raised several times.
///
/// Protection: A raised incarnation belongs to the same switch.
pub fn raised_incarnation(play: &mut Play) {
    for raise in 1..=3 {
        play.wait(61 * netkv_roles::SECOND);
        play.answer_hello(INCARNATION + raise);
    }
    let read = play.read(key(1));
    play.hit(&read, at(INCARNATION, 9), Some(&initial_value_of(key(1))));
    play.expect(play.client.outstanding() == 0, "it is still the same switch");
    play.expect(play.kept() == 1, "only the switch has it");
}

/// A copy of a COLLECT arrives long after its recovery.
///
/// Protection: A COLLECT of a finished recovery is not answered.
pub fn late_collect(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.collect(NEXT);
    play.recovered(NEXT);
    let late_page = play.page(NEXT, 0);
    play.expect(late_page.is_none(), "the list of a completed recovery no longer exists");
    play.write_hit(key(1), at(NEXT, 3));
    play.collect(LAST);
    let late = play.page(NEXT, 0);
    play.expect(late.is_none(), "an empty list must not be taken for the list of that recovery");
    let collected = play.collect(LAST);
    play.expect(collected.len() == 1, "the current recovery is not disturbed");
    play.recovered(LAST);
    play.expect(play.kept() == 0, "the current recovery completes");
}

/// RECOVERED is lost at first; meanwhile the switch answers with a newer record of the key.
///
/// Protection: RECOVERED drops the frozen records, not newer ones.
pub fn newer_than_recovered(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.write_hit(key(2), at(INCARNATION, 10));
    play.collect(NEXT);
    let read = play.read(key(1));
    play.hit(&read, at(NEXT, 1), Some(&initial_value_of(key(1))));
    play.recovered(NEXT);
    play.expect(play.kept() == 1, "the collected record is released, the newer one is kept");
    let collected = play.collect(LAST);
    let newest = collected.first().map(|it| (it.key, it.sequence));
    play.expect(newest == Some((key(1), at(NEXT, 1))), "the newer record is collected later");
}

/// A copy of RECOVERED arrives when the next recovery has begun.
///
/// Protection: RECOVERED drops the records that were frozen for its incarnation.
pub fn late_recovered(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.collect(NEXT);
    play.recovered(NEXT);
    play.write_hit(key(1), at(NEXT, 3));
    play.collect(LAST);
    let answered = play.recovered(NEXT);
    play.expect(answered, "it is answered, or it would be repeated forever");
    play.expect(play.kept() == 1, "it does not release records collected for a later incarnation");
    let collected = play.collect(LAST + 2);
    play.expect(collected.len() == 1, "the next controller collects it");
}

/// The process was given up in a recovery; copies of its COLLECT and RECOVERED arrive afterwards.
///
/// Protection: COLLECT freezes records of earlier incarnations only.
pub fn late_collect_of_the_current_incarnation(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.wait(60 * netkv_roles::SECOND);
    play.answer_hello(NEXT);
    play.write_hit(key(2), at(NEXT, 3));
    play.collect(NEXT);
    play.recovered(NEXT);
    play.expect(play.kept() == 1, "a record of the current incarnation is kept");
    let collected = play.collect(LAST);
    let collected: Vec<_> = collected.iter().map(|it| it.sequence).collect();
    play.expect(collected == [at(NEXT, 3)], "it is collected when that switch fails");
}
