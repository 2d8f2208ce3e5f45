//! Writes and replies around the snapshot point.

use netkv_wire::Op;

use crate::traps::rack::Rack;

/// Writes pass both pipelines after the snapshot point, before the second one takes the snapshot.
///
/// Protection: The other pipelines redirect writes through pipeline 0 (2 pipelines).
pub fn put_across_the_point(rack: &mut Rack) {
    rack.cache();
    rack.write_now(2);
    rack.pass_the_point();
    rack.write_now(1);
    rack.finish_the_snapshot();
}

/// A delete passes another pipeline after the snapshot point.
///
/// Protection: The other pipelines redirect deletes through pipeline 0 (2 pipelines).
pub fn delete_across_the_point(rack: &mut Rack) {
    rack.cache();
    rack.write_now(2);
    rack.pass_the_point();
    let delete = rack.delete(1);
    rack.now(&delete);
    rack.finish_the_snapshot();
}

/// A write passes the switch before its key is cached, and is applied after the snapshot point;
/// then the key is read.
///
/// Protection: No reply refreshes an entry whose original was not reported.
pub fn read_reply_across_the_point(rack: &mut Rack) {
    let write = rack.write(1);
    let write = rack.pass(&write);
    rack.cache();
    rack.pass_the_point();
    rack.arrive(&write);
    rack.run();
    rack.read_now(2);
    rack.finish_the_snapshot();
}

/// Two writes follow the snapshot point; the ORIGINAL of the first is lost.
///
/// Protection: `reported` holds the snapshot; without its original a snapshot is incomplete.
pub fn two_writes_after_the_point(rack: &mut Rack) {
    rack.cache();
    rack.write_now(2);
    rack.pass_the_point();
    rack.lose(Op::Original);
    rack.write_now(2);
    rack.lose_nothing();
    rack.write_now(2);
    rack.finish_the_snapshot();
}

/// An entry is written after each of two snapshot points.
///
/// Protection: `reported` holds the number of the snapshot.
pub fn a_write_in_each_of_two_snapshots(rack: &mut Rack) {
    rack.cache();
    for _ in 0..2 {
        rack.pass_the_point();
        rack.write_now(2);
        rack.finish_the_snapshot();
    }
}

/// Clients have preserved the writes 7 and 9, the snapshot has 8, and the switch fails.
///
/// Protection: Recovery restores the newest record of clients and snapshot (7 and 9 and 8: 9).
pub fn newest_of_clients_and_snapshot(rack: &mut Rack) {
    rack.switch.count_up_to(&rack.key.clone(), 6);
    rack.cache();
    rack.write_now(1);
    rack.write_now(2);
    rack.pass_the_point();
    rack.finish_the_snapshot();
    rack.write_now(2);
    rack.crash();
    rack.recover();
    rack.read_now(1);
}

/// The switch fails. Only a client has a delete that the switch had acknowledged.
///
/// Protection: A preserved delete is restored as a tombstone.
pub fn preserved_delete(rack: &mut Rack) {
    rack.cache();
    rack.write_now(2);
    rack.pass_the_point();
    rack.finish_the_snapshot();
    let delete = rack.delete(1);
    rack.now(&delete);
    rack.crash();
    rack.recover();
    rack.read_now(2);
}
