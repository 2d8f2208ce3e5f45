//! Numbers and incarnations that wrap, switch failures, and records and answers from before them.

use crate::traps::admission::reply_behind_a_later_write;
use crate::traps::rack::{RETRY, Rack};

/// Numbers wrap between the write at the server and the later one in the switch.
///
/// Protection: The server compares serial numbers.
pub fn eviction_at_the_wrap(rack: &mut Rack) {
    rack.switch.count_up_to(&rack.key.clone(), u32::MAX - 1);
    rack.write_now(1); // u32::MAX
    rack.cache();
    rack.write_now(2); // 1
    rack.evict(rack.key);
    rack.read_now(1);
}

/// A write numbered after the wrap is applied after the entry was refreshed with a record from
/// before it.
///
/// Protection: The switch compares serial numbers.
pub fn reply_at_the_wrap(rack: &mut Rack) {
    rack.switch.count_up_to(&rack.key.clone(), u32::MAX - 1);
    rack.write_now(1);
    let write = rack.write(1);
    let write = rack.pass(&write);
    rack.cache();
    rack.read_now(2);
    rack.arrive(&write);
    rack.run();
    rack.read_now(2);
}

/// Incarnations wrap, and the switch starts at number 1 in the next one.
///
/// Protection: Incarnations are serial numbers, too, and compared first.
pub fn incarnations_at_the_wrap(rack: &mut Rack) {
    for incarnation in [0x7000_0000, 0xe000_0000, u32::MAX] {
        rack.crash();
        rack.control.incarnation = incarnation;
        rack.recover();
    }
    for _ in 0..3 {
        rack.write_now(1);
    }
    rack.crash();
    rack.recover();
    rack.write_now(2);
    rack.read_now(1);
}

/// An entry is filled with a record of the previous incarnation while a write of the current one is
/// under way.
///
/// Protection: The switch compares incarnations first.
pub fn record_of_a_past_incarnation(rack: &mut Rack) {
    for _ in 0..3 {
        rack.write_now(1);
    }
    rack.crash();
    rack.recover();
    let write = rack.write(1);
    let write = rack.pass(&write);
    rack.cache();
    rack.read_now(2);
    rack.arrive(&write);
    rack.run();
    rack.read_now(2);
}

/// A write passes the switch, which fails. Its key is cached and read, and then the server applies
/// the write.
///
/// Protection: The switch compares sequences of past incarnations, too.
pub fn past_write_reaches_the_server(rack: &mut Rack) {
    let write = rack.write(1);
    let write = rack.pass(&write);
    rack.crash();
    rack.recover();
    rack.cache();
    rack.read_now(2);
    rack.arrive(&write);
    rack.run();
    rack.read_now(2);
}

/// A write passes the switch, which fails. Its key is cached. The reply to a read that the server
/// answers before it applies the write passes after the reply to the write.
///
/// Protection: The switch compares sequences of past incarnations, too.
pub fn past_write_and_reordered_replies(rack: &mut Rack) {
    let write = rack.write(1);
    let write = rack.pass(&write);
    rack.crash();
    rack.recover();
    reply_behind_a_later_write(rack, &write);
}

/// The switch applies a write, which is read; its answer is lost, the switch fails, and another
/// client writes.
///
/// Protection: A retry has the version stamp of the first transmission; the switch sets PAST; the
/// server answers "unknown".
pub fn write_of_a_past_incarnation(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.read_now(2);
    rack.crash();
    rack.recover();
    rack.write_now(2);
    rack.wait(RETRY);
    rack.read_now(2);
}

/// A write of a past incarnation arrives again when its key is cached again.
///
/// Protection: Only writes of this incarnation are applied.
pub fn past_write_to_a_cached_key(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.read_now(2);
    rack.crash();
    rack.recover();
    rack.cache();
    rack.write_now(2);
    rack.now(&write);
    rack.read_now(2);
}

/// The answer of a failed switch to a write arrives when the client's records have been collected.
///
/// Protection: Answers of incarnations before the last COLLECT are ignored.
pub fn answer_of_a_failed_switch(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    let answer = rack.pass(&write);
    rack.crash();
    let mut records = rack.collect(1);
    records.extend(rack.collect(2));
    rack.arrive(&answer);
    rack.recover_with(records);
    rack.read_now(2);
}

/// A value is read from the switch; the answer to its write is lost, and the switch fails.
///
/// Protection: Reads of dirty records are preserved.
pub fn value_that_was_read(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.read_now(2);
    rack.crash();
    rack.recover();
    rack.read_now(2);
}

/// A value is read as an embedded record through its server, and the switch fails.
///
/// Protection: Reads of embedded records are preserved.
pub fn value_read_through_the_server(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.freeze(rack.key);
    let lost = rack.write(1);
    rack.pass(&lost);
    rack.read_now(2);
    rack.crash();
    rack.recover();
    rack.read_now(2);
}
