//! Switches and servers that lose what they knew.

use netkv_roles::{MILLISECOND, SECOND};
use netkv_wire::Op;

use crate::traps::rack::Rack;

const RETRY: u64 = 20 * MILLISECOND;

/// The switch restarts while a server waits for the answer to its UPDATE; a copy of it arrives
/// when the switch has counted up to its version again.
///
/// Protection: After a restart of the switch all generations are new.
pub fn switch_restarts_within_a_write(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let straggler = rack.take(Op::Update);
    rack.run();
    rack.must_be_answered();
    rack.switch.restart();
    rack.carry(&straggler); // One copy of two: not cached.
    rack.run();
    rack.cache();
    rack.hold(Op::Update);
    rack.write_now();
    rack.must_be_answered();
    rack.carry(&straggler);
    rack.read_now();
    rack.release();
    rack.must_be_served();
}

/// A write passed before the entry existed; when it arrives, its server has forgotten the entry.
///
/// Protection: In the guard time after a server's start every write is slow.
pub fn server_forgets_an_entry(rack: &mut Rack) {
    let early = rack.write();
    let early = rack.pass(&early);
    rack.cache();
    rack.restart_server(SECOND);
    rack.hold(Op::Update);
    rack.arrive(&early);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
}

/// A server refills an entry under the version of a write, restarts, and receives the write.
///
/// Protection: A write with cache metadata of an unknown entry is slow.
pub fn server_forgets_what_it_pushed(rack: &mut Rack) {
    rack.cache();
    let write = rack.write();
    let write = rack.pass(&write);
    let read = rack.read();
    rack.carry(&read);
    rack.run();
    rack.restart_server(0);
    rack.hold(Op::Update);
    rack.arrive(&write);
    rack.run();
    rack.must_be_answered();
    rack.read_now();
}

/// An answer to a server that has failed arrives after its restart, during a request about the same
/// key.
///
/// Protection: The request numbers of a restarted server begin above its previous ones.
pub fn answer_to_a_dead_server(rack: &mut Rack) {
    let early = rack.write();
    let early = rack.pass(&early);
    let generation = rack.next_generation();
    rack.insert(generation, 0);
    let install = rack.control(Op::Install, generation);
    rack.carry(&install);
    let question = rack.take(Op::Invalidate);
    let answer = rack.pass(&question);
    rack.arrive(&answer);
    rack.run();
    rack.restart_server(SECOND);
    rack.arrive(&early);
    let question = rack.take(Op::Invalidate);
    rack.hold(Op::Update);
    rack.arrive(&answer);
    rack.run();
    rack.read_now();
    rack.carry(&question);
    rack.run();
    rack.must_be_answered();
}

/// A server fails during the storage call of a write.
///
/// Protection: A write is answered when the store has it.
pub fn server_dies_before_it_has_stored(rack: &mut Rack) {
    rack.store_hangs = true;
    rack.write_now();
    rack.restart_server(0);
    rack.store_recovers();
    rack.read_now();
    rack.wait(RETRY);
    rack.must_be_answered();
}

/// A write is carried out and read, its answer is lost; another client writes, the server restarts,
/// and the first write comes again.
///
/// Protection: The store keeps client and number of each write, and a restarted server reads them.
pub fn server_forgets_what_it_carried_out(rack: &mut Rack) {
    let write = rack.write();
    rack.carry(&write);
    rack.take(Op::PutReply);
    rack.read_now();
    rack.write_now();
    rack.restart_server(SECOND);
    rack.wait(RETRY);
    rack.must_be_answered();
    rack.read_now();
}
