//! Restarted servers, which have lost their records of upper copies.

use netkv_roles::MILLISECOND;
use netkv_wire::Op;

use super::rack::Rack;
use super::switches::Layer;

const RETRY: u64 = 20 * MILLISECOND;

/// A restarted server receives a write of a key with an upper copy before the controller has
/// answered RESTARTED.
///
/// Protection: Until RESTARTED is answered, every write is slow.
pub fn server_forgets_upper_copies(rack: &mut Rack) {
    rack.cache();
    rack.hold(Op::Restarted);
    rack.restart_server();
    rack.tick();
    rack.write_now();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
    rack.release();
    rack.must_be_served_by(Layer::Upper);
}

/// A restarted server receives a write after RESTARTED has arrived at the controller, and before
/// INSTALL arrives.
///
/// Protection: The controller answers RESTARTED when all upper copies of the server's keys are
/// installed again.
pub fn answer_before_installs(rack: &mut Rack) {
    rack.cache();
    rack.restart_server();
    rack.hold(Op::Install);
    rack.tick();
    rack.write_now();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
    rack.release();
    rack.must_be_served_by(Layer::Lower);
}

/// A server starts twice. Its first incarnation has installed the copy again, and the answer
/// arrives after the second start.
///
/// Protection: For each RESTARTED the controller sends INSTALL under a new number, and waits for
/// the answer to that.
pub fn late_answer_to_an_install(rack: &mut Rack) {
    rack.cache();
    rack.hold(Op::InstallReply);
    rack.restart_server();
    rack.tick();
    rack.restart_server();
    rack.lose(Op::Install);
    rack.tick();
    rack.release();
    rack.write_now();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
}

/// The upper switch is lost before a server restarts, and the first RESTARTED is lost.
///
/// Protection: RESTARTED is repeated until answered. Then nothing waits for copies that were not
/// installed again.
pub fn lost_restarted(rack: &mut Rack) {
    rack.cache();
    rack.switch.upper_is_down = true;
    rack.lose_upper();
    rack.lose(Op::Restarted);
    rack.restart_server();
    rack.tick();
    rack.lose_nothing();
    rack.write_now();
    rack.wait(RETRY);
    rack.must_be_answered();
}

/// A server starts twice, and the answer to its first start arrives after the second.
///
/// Protection: Answers are matched by request number, and the numbers of a restarted server begin
/// above its previous ones.
pub fn answer_to_a_former_start(rack: &mut Rack) {
    rack.cache();
    rack.hold(Op::RestartedReply);
    rack.restart_server();
    rack.tick();
    rack.restart_server();
    rack.lose(Op::Restarted);
    rack.tick();
    rack.release();
    rack.write_now();
    rack.must_be_answered();
    rack.read_from(Layer::Upper);
}
