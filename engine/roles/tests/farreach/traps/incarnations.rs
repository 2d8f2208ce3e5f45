//! Numbers that go round, switches that die, and what comes from before.

use crate::traps::rack::{RETRY, Rack};

/// The number of the write in the switch is round the end of the numbers from that at the server.
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

/// A write with a number round the end is done when the entry has been refreshed with the last one.
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

/// The switch begins again with number 1 in its next incarnation, after the wrap of incarnations.
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

/// A record of the previous incarnation is filled in while a write of this one is under way.
///
/// Protection: The switch treats a number of another incarnation as 0.
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
pub fn answer_of_the_dead(rack: &mut Rack) {
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

/// A value was read in the switch whose writer never heard of its write.
///
/// Protection: Reads of dirty records are preserved.
pub fn value_that_was_seen(rack: &mut Rack) {
    rack.cache();
    let write = rack.write(1);
    rack.pass(&write);
    rack.read_now(2);
    rack.crash();
    rack.recover();
    rack.read_now(2);
}

/// A value is read as an embedded record by way of its server, and the switch fails.
///
/// Protection: Reads of embedded records are preserved.
pub fn value_that_was_seen_by_the_server(rack: &mut Rack) {
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
