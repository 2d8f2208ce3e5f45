//! When a record goes: lists of RELEASE.

use crate::client::play::{INCARNATION, Play, at, key};

/// A key that is cached all the time, so that lists are never empty.
fn cached() -> [(netkv_wire::Key, netkv_wire::Sequence); 1] {
    [(key(9), at(INCARNATION, 1))]
}

/// The key was written again after the snapshot point.
///
/// Protection: RELEASE compares sequences.
pub fn written_after_the_point(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.write_hit(key(2), at(INCARNATION, 9));
    play.write_hit(key(3), at(INCARNATION, 9));
    play.release(
        1,
        &[
            (key(1), at(INCARNATION, 7)),
            (key(2), at(INCARNATION, 9)),
            (key(3), at(INCARNATION, 11)),
        ],
    );
    play.expect(play.kept() == 1, "what the snapshot has in this record or a newer one goes");
    let told = play.collect(INCARNATION + 2);
    let told: Vec<_> = told.iter().map(|it| (it.key, it.sequence)).collect();
    play.expect(told == [(key(1), at(INCARNATION, 9))], "what is newer than the snapshot stays");
}

/// The key was admitted, and written, after the snapshot point; the list is late besides.
///
/// Protection: A record whose key is not listed is dropped with the third list.
pub fn admitted_after_the_point(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.release(1, &cached());
    play.release(2, &cached());
    play.expect(play.kept() == 1, "the snapshots do not have it");
    // Its own snapshot at last. It was written again meanwhile.
    play.release(3, &[(key(1), at(INCARNATION, 8))]);
    play.expect(play.kept() == 1, "nor does the next");
}

/// Snapshots that were incomplete have numbers, but no lists: of two lists, the second may be of
/// the point right behind the first.
///
/// Protection: The client counts lists, not snapshot numbers.
pub fn numbers_without_lists(play: &mut Play) {
    play.release(1, &cached());
    play.write_hit(key(1), at(INCARNATION, 9));
    play.release(7, &cached());
    play.expect(play.kept() == 1, "one list says nothing, whatever its number");
    play.release(8, &cached());
    play.expect(play.kept() == 1, "the snapshot before may have been taken before the write");
}

/// The entry is gone, and its record was durable before.
///
/// Protection: A record whose key is not listed is dropped in the end.
pub fn no_longer_cached(play: &mut Play) {
    for id in 0..8 {
        play.write_hit(key(id), at(INCARNATION, 9));
    }
    for snapshot in 1..=3 {
        play.release(snapshot, &cached());
    }
    play.expect(play.kept() == 0, "what is not cached any more is not kept for ever");
    let preserved = play.client.preserved();
    play.expect(preserved.bytes == 0 && preserved.most_records == 8, "and takes no memory");
}

/// A key is listed, as older than what is kept, and gone from the lists one after the other.
///
/// Protection: A record is dropped only if two lists in a row lack its key.
pub fn listed_once_more(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.release(1, &cached());
    play.release(2, &cached());
    play.release(3, &[(key(1), at(INCARNATION, 8))]);
    play.release(4, &cached());
    play.expect(play.kept() == 1, "the list before had it");
    play.release(5, &cached());
    play.expect(play.kept() == 0, "now two lists in a row do not have it");
}

/// A part is lost each time, the one that has the key. It is written so often that the snapshot
/// never has its newest record.
///
/// Protection: A list is used when all of its parts have arrived.
pub fn missing_part(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    for snapshot in 1..=4 {
        play.part(snapshot, 0, 3, &cached());
        play.part(snapshot, 2, 3, &[]);
    }
    play.expect(play.kept() == 1, "without the part that has the key nothing is known of it");
    let late = play.part(4, 1, 3, &[(key(1), at(INCARNATION, 8))]);
    play.expect(late && play.kept() == 1, "the part says what the others did not");
    // A part that comes twice is not another one.
    for snapshot in 5..=8 {
        play.part(snapshot, 0, 2, &cached());
        play.part(snapshot, 0, 2, &cached());
    }
    play.expect(play.kept() == 1, "a copy of a part is not the part that is missing");
}

/// The list of a snapshot comes in parts, and those of the next one begin to come.
///
/// Protection: All parts of a list belong to one snapshot.
pub fn parts_of_two_lists(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    for snapshot in [1, 3, 5, 7] {
        // The key is in the second part of one, and in the first of the other.
        play.part(snapshot, 0, 2, &cached());
        play.part(snapshot + 1, 1, 2, &cached());
        // What is late of the first says nothing any more.
        play.part(snapshot, 0, 2, &cached());
    }
    play.expect(play.kept() == 1, "halves of two lists are no list");
}

/// A list comes again, and again, and then one of before.
///
/// Protection: A copy of a list is not counted.
pub fn copies_of_a_list(play: &mut Play) {
    play.release(10, &cached());
    play.write_hit(key(1), at(INCARNATION, 9));
    for _ in 0..4 {
        play.release(11, &cached());
        play.release(10, &cached());
    }
    play.expect(play.kept() == 1, "a copy says nothing new");
    let answered = play.part(9, 0, 1, &cached());
    play.expect(answered, "all are answered, or they would come for ever");
}
