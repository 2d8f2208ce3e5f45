//! After the switch has died: COLLECT and RECOVERED.

use netkv_roles::Client as _;
use netkv_wire::bits;

use crate::client::play::{INCARNATION, Play, at, first_value, key, stamp};

/// Life of the next switch, and of the one after that.
const NEXT: u32 = INCARNATION + 2;
const LAST: u32 = INCARNATION + 4;

/// More than fits into one answer; a list from before and answers of the next switch come between.
///
/// Protection: COLLECT freezes the records that are sent.
pub fn pieces(play: &mut Play) {
    for id in 0..40 {
        play.write_hit(key(id), at(INCARNATION, 9 + id as u32));
    }
    let (first, count) = play.page(NEXT, 0).unwrap();
    play.expect(count == 40 && first.len() < 40, "one answer has not all of them");
    // The list of the last snapshot comes late, and a read of the new incarnation.
    play.release(1, &[(key(0), at(INCARNATION, 9)), (key(30), at(INCARNATION, 39))]);
    let read = play.read(key(50));
    play.hit(&read, at(NEXT, 1), Some(&first_value(key(50))));
    let (again, _) = play.page(NEXT, 0).unwrap();
    play.expect(again == first, "a copy of a question gets the same answer");
    let mut told = first;
    while told.len() < count as usize {
        let from = told.len() as u32;
        let (page, of) = play.page(NEXT, from).unwrap();
        if page.is_empty() || of != count {
            play.expect(false, "the list is as long as it was");
            break;
        }
        told.extend(page);
    }
    told.sort_by_key(|it| it.sequence.number);
    let numbers: Vec<u32> = told.iter().map(|it| it.sequence.number).collect();
    let all: Vec<u32> = (9..49).collect();
    play.expect(numbers == all, "all of them are told, each once");
    let beyond = play.page(NEXT, 40);
    play.expect(beyond == Some((vec![], count)), "there is nothing behind the last");
}

/// The controller fails after COLLECT; the next one collects for a later incarnation.
///
/// Protection: The client drops records at RECOVERED, not at COLLECT.
pub fn controller_dies_after_collect(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    let first = play.collect(NEXT);
    let second = play.collect(LAST);
    play.expect(first == second, "what was told, and is not known to be safe, is told again");
    play.expect(second.len() == 1, "and there is something to tell");
    play.recovered(LAST);
    play.expect(play.kept() == 0, "what is safe goes");
}

/// An answer of the failed switch arrives when the records have been collected.
///
/// Protection: Answers of a switch of an incarnation before the last COLLECT are ignored.
pub fn answer_of_the_dead(play: &mut Play) {
    let (write, read) = (play.write(key(1)), play.read(key(2)));
    play.collect(NEXT);
    play.hit(&write, at(INCARNATION, 9), None);
    play.hit(&read, at(INCARNATION, 10), Some(&first_value(key(2))));
    let embedded = stamp(at(INCARNATION, 11), bits::EMBEDDED);
    play.answer(&read, embedded, Some(&first_value(key(2))), false);
    let counts = play.counts();
    play.expect(counts.completed == 0, "what nobody was told of must not count");
    play.expect(play.client.outstanding() == 2, "they are asked again");
    play.recovered(NEXT);
    play.hit(&read, at(INCARNATION, 10), Some(&first_value(key(2))));
    play.expect(play.client.outstanding() == 2, "nor when the switch is ready again");
    play.expect(play.counts().ignored == 4, "they are counted");
    // Servers lose nothing: what they say counts whenever they have said it.
    play.miss(&write, at(INCARNATION, 12), None);
    play.expect(play.client.outstanding() == 1, "an answer of a server counts");
    play.hit(&read, at(NEXT, 1), Some(&first_value(key(2))));
    play.expect(play.client.outstanding() == 0, "and so does one of the living");
}

/// The next switch has records of earlier incarnations, filled in from the servers.
///
/// Protection: Clean records of earlier incarnations are accepted.
pub fn clean_record(play: &mut Play) {
    play.collect(NEXT);
    play.recovered(NEXT);
    for sequence in [at(0, 0), at(INCARNATION, 3)] {
        let read = play.read(key(1));
        play.answer(&read, stamp(sequence, 0), Some(&first_value(key(1))), true);
    }
    play.expect(play.client.outstanding() == 0, "what the servers have is read");
    play.expect(play.kept() == 0, "and need not be kept");
}

/// A record stays in the switch while its incarnation is raised several times.
///
/// Protection: A raised incarnation belongs to the same switch.
pub fn raised_incarnation(play: &mut Play) {
    for raise in 1..=3 {
        play.wait(61 * netkv_roles::SECOND);
        play.answer_hello(INCARNATION + raise);
    }
    let read = play.read(key(1));
    play.hit(&read, at(INCARNATION, 9), Some(&first_value(key(1))));
    play.expect(play.client.outstanding() == 0, "it is still the same switch");
    play.expect(play.kept() == 1, "only the switch has it");
}

/// A COLLECT of a recovery that is long over.
///
/// Protection: A COLLECT of a finished recovery is not answered.
pub fn late_collect(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.collect(NEXT);
    play.recovered(NEXT);
    let over = play.page(NEXT, 0);
    play.expect(over.is_none(), "the list of a recovery that is over is not there");
    play.write_hit(key(1), at(NEXT, 3));
    play.collect(LAST);
    let late = play.page(NEXT, 0);
    play.expect(late.is_none(), "nobody must take an empty list for the list of then");
    let told = play.collect(LAST);
    play.expect(told.len() == 1, "the recovery that goes on is not disturbed");
    play.recovered(LAST);
    play.expect(play.kept() == 0, "and comes to its end");
}

/// RECOVERED is lost at first; meanwhile the switch answers with a newer record of the key.
///
/// Protection: RECOVERED drops the frozen records, not newer ones.
pub fn newer_than_recovered(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.write_hit(key(2), at(INCARNATION, 10));
    play.collect(NEXT);
    let read = play.read(key(1));
    play.hit(&read, at(NEXT, 1), Some(&first_value(key(1))));
    play.recovered(NEXT);
    play.expect(play.kept() == 1, "what was told goes, what is newer stays");
    let told = play.collect(LAST);
    let newest = told.first().map(|it| (it.key, it.sequence));
    play.expect(newest == Some((key(1), at(NEXT, 1))), "and is told when it is needed");
}

/// A copy of RECOVERED comes when the next recovery has begun.
///
/// Protection: RECOVERED drops the records that were frozen for its incarnation.
pub fn late_recovered(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.collect(NEXT);
    play.recovered(NEXT);
    play.write_hit(key(1), at(NEXT, 3));
    play.collect(LAST);
    let answered = play.recovered(NEXT);
    play.expect(answered, "it is answered, or it would come for ever");
    play.expect(play.kept() == 1, "what was told for a later incarnation is not safe by it");
    let told = play.collect(LAST + 2);
    play.expect(told.len() == 1, "it is told to the next controller");
}

/// The process was given up in a recovery, and copies of COLLECT and RECOVERED arrive after it.
///
/// Protection: COLLECT freezes records of earlier incarnations only.
pub fn collect_among_the_living(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.wait(60 * netkv_roles::SECOND);
    play.answer_hello(NEXT);
    play.write_hit(key(2), at(NEXT, 3));
    play.collect(NEXT);
    play.recovered(NEXT);
    play.expect(play.kept() == 1, "what the living switch has is not safe by a recovery before it");
    let told = play.collect(LAST);
    let told: Vec<_> = told.iter().map(|it| it.sequence).collect();
    play.expect(told == [at(NEXT, 3)], "it is told when that switch dies");
}
