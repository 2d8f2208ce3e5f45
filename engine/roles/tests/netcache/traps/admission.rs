//! Admission, eviction and new admission of keys.

use netkv_roles::{MILLISECOND, SECOND};
use netkv_wire::{CacheMetadata, FrameView, Message, Op, Status};

use crate::common::frame::Frame;
use crate::common::frame_of;
use crate::common::rack::Harm;
use crate::traps::control::ScriptFault;
use crate::traps::rack::{BITMAP, Rack};

/// An UPDATE arrives when its key has a new entry at the same version.
///
/// Protection: An UPDATE fills only the entry of its generation, and no generation is assigned
/// twice.
pub fn update_of_an_earlier_entry(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let late_update = rack.take(Op::Update);
    rack.run();
    rack.evict();
    rack.carry(&late_update); // One copy of two: not cached.
    rack.run();
    rack.write_now();
    rack.must_be_answered();
    let generation = rack.next_generation();
    rack.send_and_run(Op::Admit, generation);
    rack.insert(generation, 0);
    rack.carry(&late_update);
    rack.read_now();
    rack.send_and_run(Op::Install, generation);
    rack.must_be_served();
}

/// An entry is evicted while it is valid; the next entry reuses its number and cells.
///
/// Protection: `valid` holds a generation.
pub fn reused_entry(rack: &mut Rack) {
    rack.cache();
    rack.evict();
    rack.write_now();
    rack.must_be_answered();
    let generation = rack.next_generation();
    rack.send_and_run(Op::Admit, generation);
    rack.insert(generation, 0);
    rack.read_now();
    rack.send_and_run(Op::Install, generation);
    rack.must_be_served();
}

/// The cells of an entry are assigned to another key.
///
/// Protection: Cells are free only when the deletion of their lookup entry is confirmed.
pub fn cells_of_another_key(rack: &mut Rack) {
    rack.cache();
    if !rack.has_fault(ScriptFault::ReuseCellsEarly) {
        rack.evict();
    }
    rack.cache_other_in_row_0();
    rack.read_now();
}

/// A value grows between ADMIT, whose reply had its length, and INSTALL.
///
/// Protection: ADMIT blocks the writes of its key until INSTALL is done.
pub fn write_between_admission_and_insertion(rack: &mut Rack) {
    let generation = rack.next_generation();
    rack.send_and_run(Op::Admit, generation);
    let write = rack.write_of(128);
    rack.carry(&write);
    rack.run();
    rack.insert(generation, 0);
    rack.send_and_run(Op::Install, generation);
    if rack.status(Op::InstallReply) != Some(Status::Ok) {
        rack.harm.insert(Harm::NotAdmitted);
    }
    rack.must_be_answered();
}

/// The controller fails after ADMIT.
///
/// Protection: ADMIT blocks writes no longer than its lease.
pub fn controller_fails_after_admit(rack: &mut Rack) {
    let generation = rack.next_generation();
    rack.send_and_run(Op::Admit, generation);
    let held = rack.write();
    rack.carry(&held);
    rack.wait(60 * MILLISECOND);
    rack.must_be_answered();
}

/// A copy of ADMIT arrives after the entry was filled.
///
/// Protection: A copy of a controller's message gets the previous answer and has no effect.
pub fn late_copy_of_admit(rack: &mut Rack) {
    rack.configure(|config| config.protocol.lease = 60 * SECOND);
    let generation = rack.next_generation();
    let admit = rack.control(Op::Admit, generation);
    rack.carry(&admit);
    rack.run();
    rack.insert(generation, 0);
    rack.send_and_run(Op::Install, generation);
    rack.carry(&admit);
    rack.run();
    rack.write_now();
    rack.must_be_answered();
}

/// EVICTED of a former entry arrives when the key is cached again, and before a write that passed
/// the switch in between.
///
/// Protection: EVICTED removes the cache record of its generation only.
pub fn late_message_of_an_eviction(rack: &mut Rack) {
    let former = rack.cache();
    rack.switch.remove(&rack.key);
    let late = rack.control(Op::Evicted, former);
    let write = rack.write();
    let write = rack.pass(&write);
    rack.cache();
    rack.carry(&late);
    rack.hold(Op::Update);
    rack.arrive(&write);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
}

/// A write with the cache metadata of an earlier entry, at a high version, arrives when the key is
/// cached again.
///
/// Protection: Cache metadata is used only if it has the generation of the server's cache record.
pub fn write_with_metadata_of_a_former_entry(rack: &mut Rack) {
    rack.cache();
    (0..3).for_each(|_| rack.write_now());
    let write = rack.write();
    let write = rack.pass(&write);
    rack.evict();
    rack.cache_at(1);
    rack.hold(Op::Update);
    rack.arrive(&write);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
}

/// A write of an uncached key has cache metadata that no switch added.
///
/// Protection: The switch removes cache metadata from frames of keys that are not cached.
pub fn forged_metadata(rack: &mut Rack) {
    let generation = 1;
    let write = rack.write();
    let frame = FrameView::parse(&write.bytes).expect("a first write can always be started");
    let metadata = CacheMetadata { generation, version: 100, bitmap: BITMAP };
    let (from, to) = (frame.source(), frame.destination());
    let (sender, request) = (frame.sender(), frame.request());
    let forged = Message::request(from, to, frame.op(), sender, request, frame.key());
    let forged = frame_of(&forged.with_cache_metadata(metadata).with_value(frame.value()));
    let forged = rack.pass(&Frame::to_switch(forged));
    assert_eq!(rack.cache(), generation);
    rack.hold(Op::Update);
    rack.arrive(&forged);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
}
