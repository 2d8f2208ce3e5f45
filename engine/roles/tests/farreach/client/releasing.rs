//! Traps about the release of records by the lists of RELEASE.

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
    play.expect(play.kept() == 1, "records up to the sequence in the list are released");
    let collected = play.collect(INCARNATION + 2);
    let collected: Vec<_> = collected.iter().map(|it| (it.key, it.sequence)).collect();
    play.expect(
        collected == [(key(1), at(INCARNATION, 9))],
        "a record newer than the snapshot is kept",
    );
}

/// The key was admitted and written after the snapshot point, and the list is late.
///
/// Protection: A record whose key is not listed is dropped with the third list.
pub fn admitted_after_the_point(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    play.release(1, &cached());
    play.release(2, &cached());
    play.expect(play.kept() == 1, "the snapshots do not have it");
    // The first snapshot with the key has an older record: the key was written again.
    play.release(3, &[(key(1), at(INCARNATION, 8))]);
    play.expect(play.kept() == 1, "the list has an older record");
}

/// Incomplete snapshots have numbers, but no lists: two lists with distant numbers may be of
/// successive snapshot points.
///
/// Protection: The client counts lists, not snapshot numbers.
pub fn numbers_without_lists(play: &mut Play) {
    play.release(1, &cached());
    play.write_hit(key(1), at(INCARNATION, 9));
    play.release(7, &cached());
    play.expect(play.kept() == 1, "one list does not release it, whatever its number");
    play.release(8, &cached());
    play.expect(play.kept() == 1, "the snapshot before may have been taken before the write");
}

/// The entry was evicted, after its record was durable.
///
/// Protection: A record whose key stays unlisted is dropped.
pub fn no_longer_cached(play: &mut Play) {
    for id in 0..8 {
        play.write_hit(key(id), at(INCARNATION, 9));
    }
    for snapshot in 1..=3 {
        play.release(snapshot, &cached());
    }
    play.expect(play.kept() == 0, "the record of an uncached key is not kept forever");
    let preserved = play.client.preserved();
    play.expect(preserved.bytes == 0 && preserved.most_records == 8, "it takes no memory");
}

/// A key is listed once with an older record than the preserved one, and not in the following
/// lists.
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

/// The part with the key is lost each time. The key is written so often that no snapshot has its
/// newest record.
///
/// Protection: A list is used when all of its parts have arrived.
pub fn missing_part(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    for snapshot in 1..=4 {
        play.part(snapshot, 0, 3, &cached());
        play.part(snapshot, 2, 3, &[]);
    }
    play.expect(play.kept() == 1, "an incomplete list releases nothing");
    let late = play.part(4, 1, 3, &[(key(1), at(INCARNATION, 8))]);
    play.expect(late && play.kept() == 1, "the complete list has an older record");
    // A duplicate is not the missing part.
    for snapshot in 5..=8 {
        play.part(snapshot, 0, 2, &cached());
        play.part(snapshot, 0, 2, &cached());
    }
    play.expect(play.kept() == 1, "a duplicate does not complete the list");
}

/// The parts of a list and those of the next list are interleaved.
///
/// Protection: All parts of a list belong to one snapshot.
pub fn parts_of_two_lists(play: &mut Play) {
    play.write_hit(key(1), at(INCARNATION, 9));
    for snapshot in [1, 3, 5, 7] {
        // The key is in the second part of one, and in the first of the other.
        play.part(snapshot, 0, 2, &cached());
        play.part(snapshot + 1, 1, 2, &cached());
        // A late part of the first list has no effect.
        play.part(snapshot, 0, 2, &cached());
    }
    play.expect(play.kept() == 1, "parts of two lists are not a complete list");
}

/// A list arrives several times, and then an earlier one.
///
/// Protection: A copy of a list is not counted.
pub fn copies_of_a_list(play: &mut Play) {
    play.release(10, &cached());
    play.write_hit(key(1), at(INCARNATION, 9));
    for _ in 0..4 {
        play.release(11, &cached());
        play.release(10, &cached());
    }
    play.expect(play.kept() == 1, "a copy releases nothing");
    let answered = play.part(9, 0, 1, &cached());
    play.expect(answered, "all are answered, or they would be repeated forever");
}
