//! Requests of more keys than a switch splits at a time, or than fit into a frame.

use crate::Architecture;
use netkv_roles::MILLISECOND;
use netkv_roles::Outcome;

use super::{LARGE, SMALL, replies};
use crate::splitter::Host;
use crate::traps::rack::{DEADLINE, Harm, Rack};

const KEYS: u16 = 40;

/// Keys of all three servers in turn.
fn many_keys(rack: &mut Rack, size: usize) -> Vec<Vec<u8>> {
    let keys = (0..KEYS).map(|at| rack.key_on(at % 3, usize::from(at / 3))).collect();
    rack.filled(keys, size)
}

/// A multiget has 40 keys.
///
/// Protection: Further keys are in further requests, and the operation waits for all of them.
/// Servers and coordinator receive one request.
pub fn more_than_16_keys(rack: &mut Rack) {
    let keys = many_keys(rack, SMALL);
    let get = rack.get(&keys);
    let sent = rack.wire.len();
    rack.run();
    rack.expect_all(get, &keys, SMALL);
    // The paper's KEYIDX has 16 bits. The other architectures need no KEYIDX, and one request for
    // each server.
    let (max_sent, max_server_requests) = match rack.architecture {
        Architecture::NetMc => (5, 5),
        Architecture::CliMc => (3, 3),
        Architecture::CoordiMc => (1, 3),
    };
    if sent > max_sent || rack.server_requests > max_server_requests {
        rack.harm.insert(Harm::Flood);
    }
}

/// The keys do not fit into one frame.
///
/// Protection: A request has as many keys as fit into a frame.
pub fn keys_of_two_frames(rack: &mut Rack) {
    // With 3 SRV fields 22 keys of 64 bytes fit into a request.
    let keys = (0..30).map(|nth| rack.long_key_on(1, nth)).collect();
    let keys = rack.filled(keys, SMALL);
    let get = rack.get(&keys);
    rack.run();
    rack.expect_all(get, &keys, SMALL);
    if rack.server_requests != 2 {
        rack.harm.insert(Harm::Flood);
    }
}

/// One in three replies is lost. The others arrive twice, in reverse order.
///
/// Protection: The bitmap has up to 128 keys; missing keys are requested again.
pub fn large_request(rack: &mut Rack) {
    let keys = many_keys(rack, LARGE);
    let get = rack.get(&keys);
    for (at, reply) in replies(rack).into_iter().enumerate().rev() {
        if at % 3 != 1 {
            rack.deliver(reply.clone());
            rack.deliver(reply);
        }
    }
    if rack.outcome(get).is_some() {
        rack.harm.insert(Harm::WrongOutcome);
    }
    rack.run_for(200 * MILLISECOND);
    rack.expect_all(get, &keys, LARGE);
}

/// One in three replies of servers is lost. The others arrive twice, in reverse order.
///
/// Protection: The coordinator tracks keys by a bitmap, too, and requests missing keys again.
pub fn large_request_behind_the_coordinator(rack: &mut Rack) {
    let keys = many_keys(rack, LARGE);
    let get = rack.get(&keys);
    let to_coordinator = |host| host == Host::Coordinator;
    let mut replies = Vec::new();
    // The request goes to the coordinator, and its requests go to the servers.
    while let Some(frame) = rack.wire.pop_front() {
        rack.deliver(frame);
        replies.extend(rack.hold(to_coordinator));
    }
    for (at, reply) in replies.into_iter().enumerate().rev() {
        if at % 3 != 1 {
            rack.deliver(reply.clone());
            rack.deliver(reply);
        }
    }
    if !rack.wire.is_empty() {
        rack.harm.insert(Harm::WrongOutcome);
    }
    rack.run_for(200 * MILLISECOND);
    rack.expect_all(get, &keys, LARGE);
}

/// A server is down during a multiget of 40 keys.
///
/// Protection: The coordinator answers a copy of a request with the keys that have arrived.
pub fn large_request_with_a_server_down(rack: &mut Rack) {
    let keys = many_keys(rack, SMALL);
    rack.down = Some(2);
    let get = rack.get(&keys);
    rack.run_for(DEADLINE + 10 * MILLISECOND);
    match rack.outcome(get) {
        Some(Outcome::TimedOut { .. }) => {
            if rack.client().last_missing() != [2] {
                rack.harm.insert(Harm::WrongMissing);
            }
        }
        None => _ = rack.harm.insert(Harm::NoAnswer),
        Some(_) => _ = rack.harm.insert(Harm::WrongOutcome),
    }
    rack.down = None;
    let get = rack.get(&keys);
    rack.run();
    rack.expect_all(get, &keys, SMALL);
}

/// The coordinator restarts when all servers have answered it, and their replies reach the next
/// one.
///
/// Protection: The next coordinator treats a retry as a request; it ignores answers to the previous
/// one.
pub fn large_request_and_two_coordinators(rack: &mut Rack) {
    let keys = many_keys(rack, LARGE);
    let get = rack.get(&keys);
    // The first coordinator fails when all servers have answered it; their replies arrive late.
    let mut replies = Vec::new();
    while let Some(frame) = rack.wire.pop_front() {
        rack.deliver(frame);
        replies.extend(rack.hold(|host| host == Host::Coordinator));
    }
    rack.restart_coordinator(1000);
    replies.into_iter().for_each(|reply| rack.deliver(reply));
    rack.run();
    if rack.outcome(get).is_some() {
        rack.harm.insert(Harm::WrongOutcome);
    }
    rack.run_for(200 * MILLISECOND);
    rack.expect_all(get, &keys, LARGE);
    if rack.coordinator().stats().requests != 1 {
        rack.harm.insert(Harm::Flood);
    }
}
