//! Writes of keys with a copy in each layer, and the messages about them.

use netkv_roles::MILLISECOND;
use netkv_wire::{Op, Status};

use super::rack::{BITMAP, Rack};
use super::switches::{At, Layer};
use crate::common::rack::Harm;

/// Longer than the first time-out of the server.
const RETRY: u64 = 20 * MILLISECOND;

/// A write of a key with two copies is acknowledged while both UPDATEs are under way; both copies
/// are read.
///
/// Protection: A write is acknowledged when both copies are invalid, and each is valid again only
/// with the new value.
pub fn write_of_both_copies(rack: &mut Rack) {
    rack.cache();
    rack.must_be_served_by(Layer::Upper);
    rack.must_be_served_by(Layer::Lower);
    rack.hold(Op::Update);
    let write = rack.write_of(32);
    rack.now(&write);
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
    rack.read_from(Layer::Lower);
    rack.release();
    rack.must_be_served_by(Layer::Upper);
    rack.must_be_served_by(Layer::Lower);
}

/// INVALIDATE of the upper copy waits between leaf and spine. A client reads the upper copy.
///
/// Protection: A write of a key with an upper copy is slow: it is applied when the switch of that
/// copy has answered INVALIDATE.
pub fn invalidation_under_way(rack: &mut Rack) {
    rack.cache();
    rack.hold_before(At::Upper, Op::Invalidate);
    rack.write_now();
    rack.read_from(Layer::Upper);
    rack.read_from(Layer::Lower);
    rack.release_switches();
    rack.must_be_answered();
    rack.must_be_served_by(Layer::Upper);
}

/// INVALIDATE of the upper copy is lost.
///
/// Protection: INVALIDATE is repeated until answered.
pub fn lost_invalidation(rack: &mut Rack) {
    rack.cache();
    rack.lose(Op::Invalidate);
    rack.write_now();
    rack.lose_nothing();
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.must_be_served_by(Layer::Upper);
}

/// The answer to INVALIDATE of the upper copy is lost.
///
/// Protection: INVALIDATE is repeated until answered; the last version that the switch has assigned
/// counts.
pub fn lost_answer(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    rack.carry(&write);
    let invalidate = rack.take(Op::Invalidate);
    rack.pass(&invalidate);
    rack.run();
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.must_be_served_by(Layer::Upper);
}

/// The lower switch answers its UPDATE; UPDATE of the upper copy is lost.
///
/// Protection: Each layer has an UPDATE of its own, which is repeated until answered. Answers are
/// matched by request number.
pub fn lost_update(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    rack.carry(&write);
    let invalidate = rack.take(Op::Invalidate);
    rack.carry(&invalidate);
    let lower = rack.take(Op::Update);
    rack.take(Op::Update);
    rack.run();
    rack.must_be_answered();
    rack.carry(&lower);
    rack.wait(RETRY);
    rack.must_be_served_by(Layer::Upper);
    rack.must_be_served_by(Layer::Lower);
}

/// Both layers have stored their UPDATEs, and the answer of the upper one is lost. The next write
/// waits.
///
/// Protection: UPDATE is repeated until each layer has answered, and the switch answers copies.
pub fn lost_acknowledgement(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let invalidate = rack.take(Op::Invalidate);
    rack.carry(&invalidate);
    let lower = rack.take(Op::Update);
    let upper = rack.take(Op::Update);
    rack.pass(&upper);
    rack.carry(&lower);
    rack.run();
    rack.write_now();
    rack.must_be_answered_but(1);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.must_be_served_by(Layer::Upper);
}

/// Copies of the upper switch's answers to a write arrive during the next one, whose INVALIDATE is
/// lost.
///
/// Protection: Answers are matched by request number; unanswered requests are repeated.
pub fn duplicate_answers(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let invalidate = rack.take(Op::Invalidate);
    let answer = rack.pass(&invalidate);
    let copy = rack.pass(&invalidate);
    rack.arrive(&answer);
    rack.arrive(&copy);
    rack.run();
    rack.must_be_answered();
    let second = rack.write();
    rack.carry(&second);
    rack.take(Op::Invalidate);
    rack.arrive(&answer);
    rack.arrive(&copy);
    rack.run();
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
    rack.must_be_served_by(Layer::Upper);
}

/// A copy of UPDATE of the upper copy arrives when the next write is acknowledged.
///
/// Protection: UPDATE has the version of its INVALIDATE. The spine stores it only if no INVALIDATE
/// has followed.
pub fn late_update(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let invalidate = rack.take(Op::Invalidate);
    rack.carry(&invalidate);
    let lower = rack.take(Op::Update);
    let late = rack.take(Op::Update);
    rack.carry(&lower);
    rack.carry(&late);
    rack.run();
    rack.must_be_answered();
    rack.hold(Op::Update);
    rack.write_now();
    rack.must_be_answered();
    rack.pass(&late);
    rack.read_from(Layer::Upper);
    rack.release();
    rack.must_be_served_by(Layer::Upper);
}

/// A key with two copies is deleted.
///
/// Protection: A delete invalidates both copies. The server reports each of them to the controller
/// as useless.
pub fn deleted_key(rack: &mut Rack) {
    rack.cache();
    rack.hold(Op::Outgrown);
    rack.delete_now();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
    rack.read_from(Layer::Lower);
    rack.release();
}

/// A value grows. It fits the entry of the leaf, and not that of the spine.
///
/// Protection: A value is pushed only to the layers in which it fits.
pub fn outgrown_upper_copy(rack: &mut Rack) {
    let write = rack.write_of(32);
    rack.now(&write);
    rack.cache_in(Layer::Lower, BITMAP);
    rack.cache_in(Layer::Upper, 0b11);
    rack.write_now();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
    rack.must_be_served_by(Layer::Lower);
    rack.write_now();
    rack.must_be_answered();
}

/// A copy of INVALIDATE arrives at the spine after the write is complete: the upper copy is
/// invalid, and the lower one is not.
///
/// Protection: A read of an invalid upper copy reaches the server with the metadata of that copy,
/// which lets the server fill it again.
pub fn refill(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    rack.carry(&write);
    let invalidate = rack.take(Op::Invalidate);
    rack.carry(&invalidate);
    rack.run();
    rack.must_be_answered();
    rack.carry(&invalidate);
    rack.run();
    rack.must_be_served_by(Layer::Upper);
    rack.must_be_served_by(Layer::Lower);
}

/// The upper copy of a key is admitted while a write of the key is with the store; another write
/// arrives during the INSTALL.
///
/// Protection: Writes and INSTALL of a key run one at a time.
pub fn admission_during_a_write(rack: &mut Rack) {
    rack.cache_in(Layer::Lower, BITMAP);
    rack.forget_replies();
    rack.store_hangs = true;
    let first = rack.write();
    rack.carry(&first);
    let generation = rack.next_generation();
    rack.insert(Layer::Upper, generation, BITMAP);
    let install = rack.control(Layer::Upper, Op::Install, generation);
    rack.carry(&install);
    rack.hold_before(At::Upper, Op::Update);
    rack.store_recovers();
    rack.run();
    rack.must_be_answered();
    rack.must_hold();
    let second = rack.write();
    rack.carry(&second);
    rack.run();
    rack.read_from(Layer::Upper);
    rack.release_switches();
    rack.wait(RETRY);
    rack.must_be_answered();
    if rack.status(Op::InstallReply) != Some(Status::Ok) {
        rack.harm.insert(Harm::NotAdmitted);
    }
    rack.must_be_served_by(Layer::Upper);
}
