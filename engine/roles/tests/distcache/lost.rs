//! Upper switches that are lost, and evictions of upper copies.

use netkv_roles::{MILLISECOND, SECOND};
use netkv_wire::Op;

use super::rack::{BITMAP, Rack};
use super::switches::Layer;

const RETRY: u64 = 20 * MILLISECOND;
const LONG: u64 = 2 * SECOND;

/// EVICTED of a former upper copy arrives when the key has a new one.
///
/// Protection: EVICTED removes the record of its generation only.
pub fn late_eviction(rack: &mut Rack) {
    rack.cache();
    let former = rack.remove(Layer::Upper).unwrap_or_default();
    let late = rack.control(Layer::Upper, Op::Evicted, former);
    rack.cache_in(Layer::Upper, BITMAP);
    rack.now(&late);
    rack.hold(Op::Update);
    rack.write_now();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
}

/// The upper switch is lost while a write waits for its answer.
///
/// Protection: EVICTED of a lost upper copy ends the wait for it.
pub fn lost_upper_switch(rack: &mut Rack) {
    rack.cache();
    rack.switch.upper_is_down = true;
    rack.write_now();
    rack.wait(RETRY);
    rack.must_be_answered_but(1);
    rack.lose_upper();
    rack.must_be_answered();
    rack.must_be_served_by(Layer::Lower);
}

/// Servers and controller cannot reach an upper switch, but clients can.
///
/// Protection: The edges send no read to a switch before the servers take its copies for lost.
pub fn unreachable_upper_switch(rack: &mut Rack) {
    rack.cache();
    rack.switch.uplink_is_cut = true;
    rack.write_now();
    rack.read_from(Layer::Upper);
    rack.lose_upper();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
}

/// The upper switch restarts while a server waits for the answer to its UPDATE. A copy of the
/// UPDATE arrives when the switch has reached its version again.
///
/// Protection: After a restart of the switch all generations are new.
pub fn upper_switch_restarts_within_a_write(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    rack.carry(&write);
    let invalidate = rack.take(Op::Invalidate);
    rack.carry(&invalidate);
    let lower = rack.take(Op::Update);
    let late = rack.take(Op::Update);
    rack.carry(&lower);
    rack.run();
    rack.must_be_answered();
    rack.switch.restart(Layer::Upper);
    rack.carry(&late); // One copy of two: not cached.
    rack.run();
    rack.cache_in(Layer::Upper, BITMAP);
    rack.hold(Op::Update);
    rack.write_now();
    rack.must_be_answered();
    rack.pass(&late);
    rack.read_from(Layer::Upper);
    rack.release();
    rack.must_be_served_by(Layer::Upper);
}

/// The upper switch and the controller fail together. The next controller knows nothing of the
/// entry, so it does not send EVICTED.
///
/// Protection: If a switch is silent, the server forgets its upper records and asks the controller.
pub fn upper_switch_lost_with_the_controller(rack: &mut Rack) {
    rack.cache();
    rack.switch.upper_is_down = true;
    rack.switch.exclude_upper();
    rack.forget_upper_entry();
    rack.write_now();
    rack.wait(LONG);
    rack.must_be_answered();
    rack.must_be_served_by(Layer::Lower);
}

/// The same, while the server waits for the answer to an UPDATE.
///
/// Protection: If a switch is silent, the server forgets its upper records and asks the controller.
pub fn upper_switch_lost_within_a_write(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    rack.carry(&write);
    let invalidate = rack.take(Op::Invalidate);
    rack.carry(&invalidate);
    rack.switch.upper_is_down = true;
    rack.switch.exclude_upper();
    rack.forget_upper_entry();
    rack.run();
    rack.write_now();
    rack.wait(LONG);
    rack.must_be_answered();
    rack.must_be_served_by(Layer::Lower);
}
