//! Admission of keys while their reads and writes are under way.

use netkv_wire::Op;

use crate::common::frame::Frame;
use crate::traps::control::ScriptFault;
use crate::traps::rack::Rack;

/// A write hits the switch after the server has answered an earlier read, and before the reply
/// passes.
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

/// A write is applied between FETCH and FILL.
///
/// Protection: The record of FILL is outdated until a conservative read has passed.
pub fn filled_with_an_old_record(rack: &mut Rack) {
    let old = rack.fetch(rack.key);
    rack.write_now(1);
    rack.admit(&old, 0);
    rack.read_now(2);
}

/// A write passes the switch before its key is cached, and is applied after reads have refreshed
/// the entry.
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

/// A write passes the switch before its key is cached, and the reply to an earlier read arrives
/// after the reply to the write.
///
/// Protection: A reply to a write raises `max_sequence`.
pub fn reordered_replies(rack: &mut Rack) {
    let write = rack.write(1);
    let write = rack.pass(&write);
    reply_behind_a_later_write(rack, &write);
}

/// The key is cached and a read is answered before the write arrives at the server. The reply to
/// the write passes first.
pub(super) fn reply_behind_a_later_write(rack: &mut Rack, write: &Frame) {
    rack.cache();
    let read = rack.read(2);
    rack.carry(&read);
    let reply = rack.take(Op::GetReply);
    rack.arrive(write);
    rack.run();
    rack.carry(&reply);
    rack.read_now(1);
}

/// A copy of FILL arrives after the entry was written.
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

/// A copy of VALIDATE arrives when its entry holds another key, which is not yet in all pipelines.
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

/// The reply to a read that passed a former filling of the entry arrives after the entry was filled
/// with a record from before a write.
///
/// Protection: Only replies to reads that passed this filling refresh it.
pub fn late_reply_of_a_former_filling(rack: &mut Rack) {
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

/// One of two pipelines has the lookup entry. A write passes that one, and a read the other.
///
/// Protection: VALIDATE is sent when all ingress pipelines have the lookup entry; FILL leaves the
/// entry invalid (2 pipelines).
pub fn pipeline_without_the_entry_yet(rack: &mut Rack) {
    let record = rack.fetch(rack.key);
    let (fill, generation) = rack.fill_with(&record, 0);
    rack.now(&fill);
    rack.insert(0, rack.key, 0, generation);
    if rack.has_fault(ScriptFault::ValidateEarly) {
        rack.validate(rack.key, 0, generation);
    }
    rack.write_now(2);
    rack.read_now(1);
    rack.insert(1, rack.key, 0, generation);
    rack.validate(rack.key, 0, generation);
    rack.read_now(1);
}

/// A write makes a value too large for the switch.
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

/// A delete passes the switch before its key is cached, and is lost. Its retry arrives after the
/// entry was written, and later its tombstone is dropped. (The read that returns the delete does
/// not refresh the entry, since a snapshot is taken.)
///
/// Protection: A reply newer than `max_sequence` clears dirty, too.
pub fn delete_applied_late(rack: &mut Rack) {
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
