//! Requests, their copies and their answers, of cached or uncached keys.

use netkv_roles::{MILLISECOND, WINDOW};
use netkv_wire::Op;

use crate::common::rack::Harm;
use crate::traps::rack::Rack;

/// Longer than the first time-out of a client.
const RETRY: u64 = 15 * MILLISECOND;

/// A write times out and is sent again; its first copy arrives after another client's write.
///
/// Protection: The server applies each (sender, request) once.
pub fn late_copy_of_a_write(rack: &mut Rack) {
    let late = rack.write();
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.write_now();
    rack.must_be_answered();
    rack.carry(&late);
    rack.run();
    rack.read_now();
}

/// A copy of a write arrives when its number has left the server's window.
///
/// Protection: The server treats a request older than its window as a copy.
pub fn very_late_copy_of_a_write(rack: &mut Rack) {
    rack.clients(1);
    rack.cache(); // Only to make reads faster.
    let late = rack.write();
    rack.wait(RETRY);
    rack.must_be_answered();
    (0..WINDOW).for_each(|_| rack.read_now());
    rack.write_now();
    rack.carry(&late);
    rack.run();
    rack.read_now();
}

/// A write is lost.
///
/// Protection: Clients repeat requests under the same number.
pub fn lost_request(rack: &mut Rack) {
    rack.write();
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_now();
}

/// A write is applied, but its answer is lost.
///
/// Protection: A copy gets the stored answer.
pub fn lost_answer(rack: &mut Rack) {
    let write = rack.write();
    rack.carry(&write);
    rack.take(Op::PutReply);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_now();
}

/// A copy of a read's answer arrives while the same client waits for another read of the key.
///
/// Protection: Replies are matched by request number, never by key.
pub fn late_answer_to_an_earlier_read(rack: &mut Rack) {
    let first = rack.read();
    rack.carry(&first);
    let answer = rack.take(Op::GetReply);
    let answer = rack.pass(&answer);
    rack.arrive(&answer);
    rack.write_now();
    rack.must_be_answered();
    let second = rack.read();
    rack.arrive(&answer);
    rack.carry(&second);
    rack.run();
    rack.must_be_answered();
}

/// The store refuses a write.
///
/// Protection: A write that the store refused is answered as refused.
pub fn refused_write(rack: &mut Rack) {
    rack.store_refuses = true;
    rack.write_now();
    rack.must_be_answered();
    rack.read_now();
}

/// A copy of the message that began the last statistics epoch arrives in the next one.
///
/// Protection: The switch accepts an epoch only if it is ahead of its own.
pub fn late_copy_of_an_epoch(rack: &mut Rack) {
    const HOT: u16 = 4;
    rack.switch.count_reads(HOT);
    let first = rack.epoch(1);
    rack.carry(&first);
    (0..HOT).for_each(|_| rack.read_now());
    if rack.switch.take_digests().len() != 1 {
        rack.missing.push("the report of a hot key".to_owned());
    }
    let second = rack.epoch(2);
    rack.carry(&second);
    rack.carry(&first);
    (0..HOT).for_each(|_| rack.read_now());
    if rack.switch.take_digests().is_empty() {
        rack.harm.insert(Harm::NotReported);
    }
}
