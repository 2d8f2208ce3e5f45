//! Keys that go out while they are written.

use netkv_wire::Op;

use crate::traps::control::Slip;
use crate::traps::rack::{RETRY, Rack};

/// A write during an eviction makes the entry outdated, and is lost behind the switch.
pub fn write_lost_behind_the_switch(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    rack.freeze(rack.key);
    let lost = rack.write(2);
    rack.pass(&lost);
    rack.read_now(1);
}

/// A write during an eviction is done by the server.
pub fn write_during_an_eviction(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    rack.freeze(rack.key);
    rack.write_now(2);
    rack.read_now(1);
}

/// A delete is acknowledged before the evicted record comes to the server.
pub fn delete_before_the_eviction_comes(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    let record = rack.freeze(rack.key);
    let delete = rack.delete(2);
    rack.now(&delete);
    rack.must_be_answered();
    rack.restart_server();
    if let Some(record) = record {
        rack.restore(&record);
    }
    rack.retire(rack.key);
    rack.remove_everywhere(rack.key);
    rack.read_now(1);
}

/// A copy of RESTORE comes when the key has been written since.
pub fn late_copy_of_restore(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    let Some(record) = rack.freeze(rack.key) else { return };
    rack.restore(&record);
    rack.retire(rack.key);
    rack.remove_everywhere(rack.key);
    rack.write_now(2);
    rack.restore(&record);
    rack.read_now(1);
}

/// What was written in the switch is with the server when the entry is gone.
pub fn dirty_record(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    rack.evict(rack.key);
    rack.read_now(2);
}

/// One pipeline has forgotten the key: a write comes by it, then a read by the other.
pub fn pipeline_that_has_forgotten(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    if let Some(record) = rack.freeze(rack.key) {
        rack.restore(&record);
    }
    if !rack.slips(Slip::RetireLate) {
        rack.retire(rack.key);
    }
    rack.switch.remove(0, &rack.key.clone());
    rack.write_now(2);
    rack.read_now(1);
    rack.retire(rack.key);
    rack.remove(rack.key, &[1]);
}

/// A write is applied, its answer is lost, and its entry is evicted; another client writes.
pub fn copy_of_a_write_whose_entry_is_gone(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.read_now(2);
    rack.evict(rack.key);
    rack.write_now(2);
    rack.read_now(2);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_now(2);
}

/// A write passes the entry of a key; its copy comes when another client has written.
pub fn late_copy_of_a_write(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.now(&write);
    rack.write_now(2);
    rack.now(&write);
    rack.read_now(1);
}

/// A write is done by the server, its answer is lost; the key is cached, and another client writes.
pub fn copy_of_a_write_that_was_forwarded(rack: &mut Rack) {
    let write = rack.write(1);
    rack.carry(&write);
    rack.take(Op::PutReply);
    rack.cache();
    rack.read_now(2);
    rack.write_now(2);
    rack.read_now(2);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_now(2);
}

/// The answer of the switch to a write is lost.
pub fn lost_answer(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_now(2);
}

/// A write passes before its key is cached; it comes when the key has been written and evicted. Then
/// the switch dies, and a client has preserved what was evicted.
pub fn write_from_before_the_entry(rack: &mut Rack) {
    let early = rack.write(1);
    let early = rack.pass(&early);
    rack.cache();
    rack.write_now(2);
    rack.evict(rack.key);
    rack.read_now(2);
    rack.arrive(&early);
    rack.run();
    rack.must_be_answered();
    rack.read_now(2);
    rack.crash();
    rack.recover();
    rack.read_now(2);
}
