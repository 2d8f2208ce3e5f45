//! Keys that come in while their reads and writes are under way.

use netkv_wire::Op;

use crate::traps::control::Slip;
use crate::traps::rack::Rack;

/// A read has passed to the server, which has answered, when a write hits the switch.
///
/// Protection: A reply older than `max_sequence` is not stored.
pub fn read_in_flight(rack: &mut Rack) {
    rack.cache();
    let read = rack.read(1);
    rack.carry(&read);
    let reply = rack.take(Op::GetReply);
    rack.write_now(2);
    rack.must_be_answered_but(1);
    rack.carry(&reply);
    rack.read_now(2);
}

/// A write is done between FETCH and FILL.
///
/// Protection: The record of FILL is outdated until a conservative read has passed.
pub fn filled_with_an_old_record(rack: &mut Rack) {
    let old = rack.fetch(rack.key);
    rack.write_now(1);
    rack.admit(&old, 0);
    rack.read_now(2);
}

/// A write passes before its key is cached, and is done when reads have refreshed the entry.
///
/// Protection: A server's reply passes the entry before the client receives it, and outdates the
/// entry if it is newer than `max_sequence`.
pub fn write_before_the_entry(rack: &mut Rack) {
    let write = rack.write(1);
    let write = rack.pass(&write);
    rack.cache();
    rack.read_now(2);
    rack.arrive(&write);
    rack.run();
    rack.read_now(2);
}

/// A write passes before its key is cached, and the reply to an earlier read arrives after the
/// reply to the write.
///
/// Protection: A reply to a write raises `max_sequence`.
pub fn replies_that_change_places(rack: &mut Rack) {
    let write = rack.write(1);
    let write = rack.pass(&write);
    rack.cache();
    let read = rack.read(2);
    rack.carry(&read);
    let reply = rack.take(Op::GetReply);
    rack.arrive(&write);
    rack.run();
    rack.carry(&reply);
    rack.read_now(1);
}

/// A copy of FILL comes when the entry has been written.
///
/// Protection: FILL has an effect only with a newer generation.
pub fn late_copy_of_fill(rack: &mut Rack) {
    let record = rack.fetch(rack.key);
    let (fill, generation) = rack.admit(&record, 0);
    rack.write_now(1);
    rack.now(&fill);
    rack.validate(rack.key, 0, generation);
    rack.read_now(2);
}

/// A copy of VALIDATE arrives when its entry holds another key that one pipeline does not know yet.
///
/// Protection: Messages about an entry name a generation (2 pipelines).
pub fn late_copy_of_validate(rack: &mut Rack) {
    let generation = rack.cache();
    let late = rack.about(Op::Validate, rack.key, 0, generation);
    rack.evict(rack.key);
    let record = rack.fetch(rack.other);
    let (fill, generation) = rack.fill_with(&record, 0);
    rack.now(&fill);
    rack.insert(0, rack.other, 0, generation);
    rack.now(&late);
    let write = rack.write_other(2);
    rack.now(&write);
    let read = rack.read_other(1);
    rack.now(&read);
    rack.insert(1, rack.other, 0, generation);
    rack.validate(rack.other, 0, generation);
}

/// The answer to a read that passed no valid entry, or one of a former filling, comes when the entry
/// has been filled with what was there before a write.
///
/// Protection: Only replies to reads that passed this filling refresh it.
pub fn straggler_of_a_former_filling(rack: &mut Rack) {
    rack.cache();
    let read = rack.read(1);
    rack.carry(&read);
    let reply = rack.take(Op::GetReply);
    let old = rack.fetch(rack.key);
    rack.evict(rack.key);
    rack.write_now(2);
    rack.admit(&old, 0);
    rack.carry(&reply);
    rack.read_now(2);
}

/// One pipeline has the lookup entry; a write comes by it, and a read by the other.
///
/// Protection: VALIDATE is sent when all ingress pipelines have the lookup entry; FILL leaves the
/// entry invalid (2 pipelines).
pub fn pipeline_that_does_not_know_yet(rack: &mut Rack) {
    let record = rack.fetch(rack.key);
    let (fill, generation) = rack.fill_with(&record, 0);
    rack.now(&fill);
    rack.insert(0, rack.key, 0, generation);
    if rack.slips(Slip::ValidateEarly) {
        rack.validate(rack.key, 0, generation);
    }
    rack.write_now(2);
    rack.read_now(1);
    rack.insert(1, rack.key, 0, generation);
    rack.validate(rack.key, 0, generation);
    rack.read_now(1);
}

/// A value outgrows what the switch can hold.
///
/// Protection: A write that does not fit is forwarded and outdates the entry; the server answers
/// with the newer of its record and the embedded one.
pub fn value_above_the_limit(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    let large = rack.write_of(1, 200);
    rack.now(&large);
    rack.read_now(2);
    rack.read_now(1);
}

/// A delete passes before its key is cached, and is lost. When it comes again, the entry has been
/// written; then what the server remembers of the delete goes. (The read that sees the delete does
/// not refresh the entry, since a snapshot is taken.)
///
/// Protection: A reply newer than `max_sequence` clears dirty, too.
pub fn delete_that_was_done_late(rack: &mut Rack) {
    let delete = rack.delete(1);
    rack.pass(&delete);
    rack.cache();
    rack.write_now(2);
    rack.now(&delete);
    rack.must_be_answered();
    rack.pass_the_point();
    rack.read_now(2);
    rack.finish_the_snapshot();
    rack.watermarks(6);
    rack.read_now(2);
}
