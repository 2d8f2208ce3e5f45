//! The scripts of the traps about writes.

use netkv_roles::{MILLISECOND, Outcome, UserOp};

use super::replies;
use crate::traps::rack::{Harm, Rack};

/// A copy of a write arrives after another client's write.
///
/// Protection: Servers deduplicate writes by client and number.
pub fn late_copy_of_a_write(rack: &mut Rack) {
    let key = rack.key_on(0, 0);
    let first = rack.put(&key, b"first");
    let copies: Vec<_> = rack.wire.iter().cloned().collect();
    rack.run();
    let second = rack.put(&key, b"second");
    rack.run();
    copies.into_iter().for_each(|copy| rack.deliver(copy));
    rack.run();
    rack.expect_done(first);
    rack.expect_done(second);
    rack.expect_stored(&key, Some(b"second"));
}

/// A copy of a delete arrives after another client's write.
///
/// Protection: Servers deduplicate deletes by client and number.
pub fn late_copy_of_a_delete(rack: &mut Rack) {
    let key = rack.key_on(0, 0);
    let delete = rack.submit(&UserOp::Delete(&key));
    let copies: Vec<_> = rack.wire.iter().cloned().collect();
    rack.run();
    let put = rack.put(&key, b"later");
    rack.run();
    copies.into_iter().for_each(|copy| rack.deliver(copy));
    rack.run();
    rack.expect_done(delete);
    rack.expect_done(put);
    rack.expect_stored(&key, Some(b"later"));
}

/// A write is applied, its answer is lost, another client writes, and the first one retries.
fn repeated(rack: &mut Rack, meanwhile: impl Fn(&mut Rack)) {
    let key = rack.key_on(0, 0);
    let first = rack.put(&key, b"first");
    replies(rack);
    meanwhile(rack);
    let second = rack.put(&key, b"second");
    rack.run();
    rack.expect_done(second);
    rack.run_for(100 * MILLISECOND);
    rack.expect_done(first);
    rack.expect_stored(&key, Some(b"second"));
}

/// The answer to a write is lost, another client writes, and the first one retries.
///
/// Protection: A retry has the same number and gets the stored answer.
pub fn write_whose_answer_was_lost(rack: &mut Rack) {
    repeated(rack, |_| {});
}

/// The answer to a write is lost, its server restarts, another client writes, and the first one
/// retries.
///
/// Protection: The store keeps the numbers of applied writes.
pub fn write_before_its_server_was_restarted(rack: &mut Rack) {
    repeated(rack, |rack| rack.restart(0));
}

/// The answer to a write is lost, the coordinator restarts, another client writes, and the first
/// one retries.
///
/// Protection: A coordinator's write names the client and its number.
pub fn write_before_the_coordinator_was_restarted(rack: &mut Rack) {
    repeated(rack, |rack| rack.restart_coordinator(1_000_000));
}

pub fn write_before_its_server_was_restarted_without_memory(rack: &mut Rack) {
    rack.restarts_without_memory = true;
    repeated(rack, |rack| rack.restart(0));
}

/// A copy of a write arrives when its number has left the server's window.
///
/// Protection: A write older than the window is not applied.
pub fn late_copy_from_before_the_window(rack: &mut Rack) {
    let key = rack.key_on(0, 0);
    let first = rack.put(&key, b"first");
    let copies: Vec<_> = rack.wire.iter().cloned().collect();
    rack.run();
    rack.expect_done(first);
    // More than a window later, by either client.
    for _ in 0..2 * 4200 {
        rack.put(&key, b"other");
        rack.run();
    }
    let last = rack.put(&key, b"last");
    rack.run();
    copies.into_iter().for_each(|copy| rack.deliver(copy));
    rack.run();
    rack.expect_done(last);
    rack.expect_stored(&key, Some(b"last"));
}

/// The server restarts before its store has executed a write.
///
/// Protection: The server answers after the store.
pub fn store_that_is_slow(rack: &mut Rack) {
    let key = rack.key_on(0, 0);
    rack.hangs = true;
    let put = rack.put(&key, b"new");
    rack.run();
    // The process fails before its store has executed the call.
    if rack.outcome(put).is_some() {
        rack.harm.insert(Harm::WrongEffect);
    }
    rack.restart(0);
    rack.hangs = false;
    rack.run_for(100 * MILLISECOND);
    rack.expect_done(put);
    rack.expect_stored(&key, Some(b"new"));
}

/// Two writes of one key are under way, and the store executes its calls in any order.
///
/// Protection: At most one write of a key is with the store.
pub fn two_writes_of_one_key(rack: &mut Rack) {
    let key = rack.key_on(0, 0);
    rack.hangs = true;
    let puts = [rack.put(&key, b"first"), rack.put(&key, b"second")];
    rack.run();
    rack.hangs = false;
    // The store executes its calls in any order.
    rack.work();
    rack.run();
    puts.into_iter().for_each(|put| rack.expect_done(put));
    rack.expect_stored(&key, Some(b"second"));
}

/// A client reads and writes a key that begins with `netkv:`.
///
/// Protection: Keys that begin with `netkv:` are rejected.
pub fn reserved_key(rack: &mut Rack) {
    let name = b"netkv:of the store";
    let put = rack.put(name, b"new");
    let get = rack.get(&[name.to_vec()]);
    rack.run();
    for token in [put, get] {
        if !matches!(rack.outcome(token), Some(Outcome::Refused(_))) {
            rack.harm.insert(Harm::WrongOutcome);
        }
    }
    rack.expect_stored(name, None);
}
