//! Writes, updates and reads that race for one entry.

use netkv_roles::MILLISECOND;
use netkv_wire::Op;

use crate::common::rack::Harm;
use crate::traps::rack::Rack;

/// Longer than the first time-out of the server.
const RETRY: u64 = 20 * MILLISECOND;

/// UPDATE(v1) is delayed, PUT(v2) passes the switch, UPDATE(v1) arrives after it.
///
/// Protection: An UPDATE has the version of its write. The switch stores it only if no write has
/// passed since.
pub fn delayed_update(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let delayed = rack.take(Op::Update);
    rack.run();
    rack.must_be_answered();
    let second = rack.write();
    let second = rack.pass(&second);
    let answer = rack.pass(&delayed);
    rack.arrive(&answer);
    rack.hold(Op::Update);
    rack.arrive(&second);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
    rack.release();
    rack.carry(&delayed);
    rack.must_be_served();
}

/// PUT passes the switch before the lookup entry exists, and arrives when the entry is filled.
///
/// Protection: A write of a cached key without cache metadata is slow: the server invalidates the
/// entry before it answers.
pub fn write_before_the_entry(rack: &mut Rack) {
    let early = rack.write();
    let early = rack.pass(&early);
    rack.cache();
    rack.hold(Op::Update);
    rack.arrive(&early);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
}

/// A PUT passes before the lookup entry exists, and the server's INVALIDATE is lost.
///
/// Protection: INVALIDATE is repeated until answered.
pub fn lost_invalidation(rack: &mut Rack) {
    let early = rack.write();
    let early = rack.pass(&early);
    rack.cache();
    rack.arrive(&early);
    rack.take(Op::Invalidate);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.must_be_served();
}

/// The UPDATE of an acknowledged write is lost, and so are its first repetitions.
///
/// Protection: A write that passes invalidates; UPDATE is repeated until answered.
pub fn lost_update(rack: &mut Rack) {
    rack.cache();
    rack.lose(Op::Update);
    let write = rack.write_of(32);
    rack.carry(&write);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
    rack.wait(RETRY);
    rack.read_now();
    rack.lose_nothing();
    rack.wait(RETRY);
    rack.must_be_served();
}

/// The switch has stored the UPDATE, but its acknowledgement is lost; the next write waits for it.
///
/// Protection: UPDATE is repeated until answered, and the switch answers copies.
pub fn lost_acknowledgement(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let update = rack.take(Op::Update);
    rack.pass(&update);
    rack.run();
    let second = rack.write();
    rack.carry(&second);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.must_be_served();
}

/// UPDATE and acknowledgement are duplicated; the copies arrive while the next UPDATE is lost.
///
/// Protection: Answers are matched by request number, and UPDATE by version; unanswered requests
/// are repeated.
pub fn duplicate_update_and_acknowledgement(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let update = rack.take(Op::Update);
    rack.run();
    let answer = rack.pass(&update);
    let copy = rack.pass(&update);
    rack.arrive(&answer);
    let second = rack.write();
    rack.carry(&second);
    rack.take(Op::Update);
    rack.run();
    rack.arrive(&copy);
    rack.wait(RETRY);
    rack.carry(&update);
    rack.read_now();
    rack.must_be_served();
}

/// A reply to an earlier request of the server arrives during a new request about the same key.
///
/// Protection: Answers are matched by request number.
pub fn answer_to_an_earlier_request(rack: &mut Rack) {
    rack.configure(|config| config.guard = 5 * MILLISECOND);
    // The key is not cached, but during the guard time the server sends INVALIDATE.
    let first = rack.write();
    rack.carry(&first);
    let request = rack.take(Op::Invalidate);
    let answer = rack.pass(&request);
    let copy = rack.pass(&request);
    rack.arrive(&answer);
    rack.run();
    let early = rack.write();
    let early = rack.pass(&early);
    rack.cache();
    rack.arrive(&early);
    let request = rack.take(Op::Invalidate);
    rack.arrive(&copy);
    rack.run();
    rack.read_now();
    rack.carry(&request);
    rack.run();
    rack.must_be_answered();
}

/// A write passes the switch between a read and its reply; the reply and the refill that the read
/// caused arrive after the write.
///
/// Protection: Replies to reads fill no entry. A refill has the version of the read's cache
/// metadata.
pub fn read_in_flight(rack: &mut Rack) {
    rack.cache();
    let lost = rack.write(); // It invalidates the entry and is lost.
    rack.pass(&lost);
    let read = rack.read();
    let read = rack.pass(&read);
    let write = rack.write();
    let write = rack.pass(&write);
    rack.arrive(&read);
    let reply = rack.take(Op::GetReply);
    let refill = rack.take(Op::Update);
    let answer = rack.pass(&refill);
    rack.arrive(&answer);
    rack.hold(Op::Update);
    rack.arrive(&write);
    rack.run();
    rack.carry(&reply);
    rack.read_now();
    rack.release();
    rack.carry(&refill);
    rack.must_be_served();
}

/// A read that passed after a write overtakes it: the server refills the entry with the old value,
/// under the write's own version.
///
/// Protection: A write whose version was pushed already is slow.
pub fn write_overtaken_by_a_refill(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    let write = rack.pass(&write);
    let read = rack.read();
    rack.carry(&read);
    rack.run();
    rack.hold(Op::Update);
    rack.arrive(&write);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
}

/// Two writes are reordered between switch and server.
///
/// Protection: No version is pushed with two values.
pub fn reordered_writes(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    let first = rack.pass(&first);
    let second = rack.write();
    rack.carry(&second);
    rack.run();
    rack.arrive(&first);
    rack.run();
    rack.must_be_answered();
    rack.must_be_served();
}

/// Two writes are reordered between switch and server, and the entry's version wraps between them.
///
/// Protection: Versions are compared as serial numbers.
pub fn reordered_writes_at_the_wrap(rack: &mut Rack) {
    rack.switch.set_version(0, u32::MAX - 2);
    reordered_writes(rack);
}

/// Two writes of one key are under way in a slow store.
///
/// Protection: Writes of a key wait for the operation under way for it.
pub fn concurrent_writes(rack: &mut Rack) {
    rack.cache();
    rack.store_hangs = true;
    let first = rack.write();
    rack.carry(&first);
    let second = rack.write();
    rack.carry(&second);
    rack.store_one();
    rack.run();
    rack.read_now();
    rack.store_recovers();
    rack.wait(RETRY);
    rack.must_be_answered();
}

/// A write invalidates the entry and is lost behind the switch.
///
/// Protection: A read with cache metadata and a version that was not pushed refills the entry.
pub fn write_lost_behind_the_switch(rack: &mut Rack) {
    rack.cache();
    let lost = rack.write();
    rack.pass(&lost);
    rack.must_be_served();
}

/// A copy of a write invalidates the entry that the write has just filled.
///
/// Protection: A copy of a write with cache metadata refills the entry, too.
pub fn copy_invalidates(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    rack.carry(&write);
    rack.run();
    rack.carry(&write);
    rack.run();
    let hits = rack.switch.hits;
    rack.read_now();
    if rack.switch.hits == hits {
        rack.harm.insert(Harm::NotServed);
    }
}
