//! Restarts of switches and servers, which lose their state.

use netkv_roles::{MILLISECOND, SECOND};
use netkv_wire::Op;

use crate::traps::rack::Rack;

const RETRY: u64 = 20 * MILLISECOND;

/// The switch restarts while a server waits for the answer to its UPDATE; a copy of the UPDATE
/// arrives when the switch has reached its version again.
///
/// Protection: After a restart of the switch all generations are new.
pub fn switch_restarts_within_a_write(rack: &mut Rack) {
    rack.cache();
    let first = rack.write();
    rack.carry(&first);
    let late_update = rack.take(Op::Update);
    rack.run();
    rack.must_be_answered();
    rack.switch.restart();
    rack.carry(&late_update); // One copy of two: not cached.
    rack.run();
    rack.cache();
    rack.hold(Op::Update);
    rack.write_now();
    rack.must_be_answered();
    rack.carry(&late_update);
    rack.read_now();
    rack.release();
    rack.must_be_served();
}

/// A write passes the switch before the entry exists, and arrives after a restart of its server,
/// which has lost its record of the entry.
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
pub fn server_forgets_its_pushes(rack: &mut Rack) {
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
pub fn answer_to_a_failed_server(rack: &mut Rack) {
    let early = rack.write();
    let early = rack.pass(&early);
    let generation = rack.next_generation();
    rack.insert(generation, 0);
    let install = rack.control(Op::Install, generation);
    rack.carry(&install);
    let request = rack.take(Op::Invalidate);
    let answer = rack.pass(&request);
    rack.arrive(&answer);
    rack.run();
    rack.restart_server(SECOND);
    rack.arrive(&early);
    let request = rack.take(Op::Invalidate);
    rack.hold(Op::Update);
    rack.arrive(&answer);
    rack.run();
    rack.read_now();
    rack.carry(&request);
    rack.run();
    rack.must_be_answered();
}

/// A server fails during the storage call of a write.
///
/// Protection: A write is answered when the store has it.
pub fn server_fails_before_storing(rack: &mut Rack) {
    rack.store_hangs = true;
    rack.write_now();
    rack.restart_server(0);
    rack.store_recovers();
    rack.read_now();
    rack.wait(RETRY);
    rack.must_be_answered();
}

/// A write is applied and read, and its answer is lost; another client writes, the server restarts,
/// and the first write is sent again.
///
/// Protection: The store keeps client and number of each write, and a restarted server reads them.
pub fn server_forgets_applied_writes(rack: &mut Rack) {
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
