//! Values that outgrow their entry or are deleted, and frames that are truncated or change size.

use netkv_roles::MILLISECOND;
use netkv_wire::{MAX_VALUE, Op, set_udp_checksum};

use crate::common::frame::Frame;
use crate::common::rack::Harm;
use crate::traps::rack::Rack;

/// Values exceed the room of their entry (64 bytes) and the limit of the switch (128).
///
/// Protection: A PUT of any size invalidates; a value that does not fit is not pushed.
pub fn outgrown_value(rack: &mut Rack) {
    rack.cache();
    rack.lose(Op::Outgrown);
    for size in [65, 128, 129, MAX_VALUE] {
        let write = rack.write_of(size);
        rack.carry(&write);
        rack.run();
        rack.must_be_answered();
        rack.read_now();
        rack.must_be_answered();
        rack.write_now(); // It fits again, and the entry is still there.
        rack.must_be_served();
    }
}

/// A key is deleted; the OUTGROWN to the controller is lost.
///
/// Protection: A DELETE invalidates.
pub fn deleted_key(rack: &mut Rack) {
    rack.cache();
    rack.lose(Op::Outgrown);
    let delete = rack.delete();
    rack.carry(&delete);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
    rack.read_now();
}

/// The server reports that an entry is useless, and the report is lost.
///
/// Protection: OUTGROWN is repeated until answered.
pub fn lost_outgrown(rack: &mut Rack) {
    rack.cache();
    let write = rack.write_of(MAX_VALUE);
    rack.carry(&write);
    rack.take(Op::Outgrown);
    rack.run();
    rack.wait(20 * MILLISECOND);
    if rack.switch.entry(&rack.key).is_some() {
        rack.harm.insert(Harm::NotFreed);
    }
}

/// An UPDATE arrives with one chunk less than its bitmap requires.
///
/// Protection: Frames that end too early are dropped.
pub fn update_that_was_cut(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    rack.carry(&write);
    let complete = rack.take(Op::Update);
    let truncated = without_the_last_chunk(&complete);
    rack.carry(&truncated);
    rack.run();
    rack.read_now();
    rack.carry(&complete);
    rack.must_be_served();
}

/// The frame with one chunk less, and with correct lengths and checksums.
fn without_the_last_chunk(frame: &Frame) -> Frame {
    let mut bytes = frame.bytes.clone();
    if bytes.is_empty() {
        return frame.clone();
    }
    bytes.truncate(bytes.len() - 16);
    for at in [16, 38] {
        let length = u16::from_be_bytes([bytes[at], bytes[at + 1]]) - 16;
        bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
    bytes[24..26].fill(0);
    let words = bytes[14..34].chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    bytes[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    set_udp_checksum(&mut bytes);
    Frame::to_switch(bytes)
}

/// Values and cache metadata are added to frames and removed again.
///
/// Protection: IPv4 and UDP lengths and the IPv4 checksum are updated when a header or value is
/// added or removed.
pub fn frames_that_grow_and_shrink(rack: &mut Rack) {
    rack.cache();
    let write = rack.write_of(48);
    rack.carry(&write);
    rack.run();
    rack.must_be_answered();
    rack.must_be_served();
    rack.must_be_answered();
}

/// A read carries a UDP checksum, and the switch answers it with another payload.
///
/// Protection: The UDP checksum of an answer is that of the answer.
pub fn read_with_a_checksum(rack: &mut Rack) {
    rack.cache();
    let write = rack.write_of(40);
    rack.carry(&write);
    rack.run();
    let read = rack.read();
    assert_ne!(read.bytes[40..42], [0, 0], "the read has a checksum");
    rack.carry(&read);
    rack.run();
    rack.must_be_answered();
}
