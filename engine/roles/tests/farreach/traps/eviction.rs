//! Eviction of keys while they are written.

use netkv_wire::Op;

use crate::traps::control::ScriptFault;
use crate::traps::rack::{RETRY, Rack};

/// A write during an eviction makes the entry outdated, and is lost behind the switch.
///
/// Protection: A dirty record that is not the latest is embedded in reads, and the server answers
/// with it.
pub fn write_lost_behind_the_switch(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    rack.freeze(rack.key);
    let lost = rack.write(2);
    rack.pass(&lost);
    rack.read_now(1);
}

/// A write during an eviction is applied by the server.
///
/// Protection: A write to an entry that is to be evicted outdates it, and so does its reply; an
/// older embedded record is not the answer.
pub fn write_during_an_eviction(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    rack.freeze(rack.key);
    rack.write_now(2);
    rack.read_now(1);
}

/// A delete is acknowledged before the evicted record arrives at the server.
///
/// Protection: RESTORE stores only newer records; deletes leave a tombstone.
pub fn delete_before_the_eviction_arrives(rack: &mut Rack) {
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

/// A copy of RESTORE arrives after the key was written again.
///
/// Protection: RESTORE stores only newer records.
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

/// A key with a dirty record is evicted.
///
/// Protection: A dirty record is restored before its entry is removed.
pub fn dirty_record(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    rack.evict(rack.key);
    rack.read_now(2);
}

/// The lookup entry is removed from one of two pipelines. A write passes that one, and then a read
/// the other.
///
/// Protection: RETIRE is answered before the lookup entries are deleted (2 pipelines).
pub fn pipeline_without_the_entry(rack: &mut Rack) {
    rack.cache();
    rack.write_now(1);
    if let Some(record) = rack.freeze(rack.key) {
        rack.restore(&record);
    }
    if !rack.has_fault(ScriptFault::RetireLate) {
        rack.retire(rack.key);
    }
    rack.switch.remove(0, &rack.key.clone());
    rack.write_now(2);
    rack.read_now(1);
    rack.retire(rack.key);
    rack.remove(rack.key, &[1]);
}

/// A write is applied, its answer is lost, and its entry is evicted; another client writes.
///
/// Protection: The deduplication window does not depend on the entry: the copy is answered with its
/// own sequence.
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

/// A copy of a write arrives after another client's write.
///
/// Protection: The deduplication window applies a write once.
pub fn late_copy_of_a_write(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.now(&write);
    rack.write_now(2);
    rack.now(&write);
    rack.read_now(1);
}

/// A write is applied by the server, and its answer is lost; the key is cached, and another client
/// writes.
///
/// Protection: A write that was forwarded once is always forwarded, and the server deduplicates it.
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
///
/// Protection: Clients repeat requests; the switch answers copies.
pub fn lost_answer(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_now(2);
}

/// A write passes the switch before its key is cached and arrives after its eviction. Then the
/// switch fails, and a client has preserved the evicted record.
///
/// Protection: Writes of clients are stored only if they are newer than the stored record.
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
