//! The scripts of the traps.

mod large;
mod writes;

use crate::Architecture;
use netkv_roles::{MILLISECOND, Outcome};
use netkv_wire::multiget::{Addresses, Answer, Header, Op, ReplyWriter, group};
use netkv_wire::{client_ip, server_ip};

use crate::splitter::Host;
use crate::traps::rack::{DEADLINE, Harm, Rack, value_of};
pub use large::*;
pub use writes::*;

const SMALL: usize = 20;
/// One value fills a reply.
const LARGE: usize = 1024;

/// Two keys of server 0, then one of each other server.
fn some_keys(rack: &mut Rack, size: usize) -> Vec<Vec<u8>> {
    let mut keys = vec![rack.key_on(0, 1)];
    keys.extend((0..rack.layout.servers).map(|server| rack.key_on(server, 0)));
    rack.filled(keys, size)
}

fn to_clients(host: Host) -> bool {
    host == Host::Clients
}

/// Delivers all frames except those to clients, and returns those.
fn replies(rack: &mut Rack) -> Vec<(Host, Vec<u8>)> {
    let mut held = Vec::new();
    loop {
        held.extend(rack.hold(to_clients));
        let Some(frame) = rack.wire.pop_front() else { return held };
        rack.deliver(frame);
    }
}

// ---------------------------------------------------------------- aggregation

/// Replies arrive twice before the last one has arrived.
///
/// Protection: A bitmap of keys shows what is answered, not a counter, and not the first reply.
pub fn copies_of_replies(rack: &mut Rack) {
    // Each value is a reply of its own; the second reply is late.
    let keys = (0..3).map(|nth| rack.key_on(0, nth)).collect();
    let keys = rack.filled(keys, LARGE);
    let get = rack.get(&keys);
    let mut replies = replies(rack);
    let late = (replies.len() > 1).then(|| replies.remove(1));
    for reply in &replies {
        rack.deliver(reply.clone());
        rack.deliver(reply.clone());
    }
    if rack.outcome(get).is_some() {
        rack.harm.insert(Harm::WrongOutcome);
    }
    late.into_iter().for_each(|reply| rack.deliver(reply));
    rack.run();
    rack.expect_all(get, &keys, LARGE);
}

/// Replies to the coordinator arrive twice before the last one has arrived.
///
/// Protection: The coordinator has a bitmap of keys, too.
pub fn copies_of_replies_to_the_coordinator(rack: &mut Rack) {
    let keys = (0..3).map(|nth| rack.key_on(0, nth)).collect();
    let keys = rack.filled(keys, LARGE);
    let get = rack.get(&keys);
    while let Some(frame) = rack.wire.pop_front() {
        rack.deliver(frame);
        let mut replies = rack.hold(|to| to == Host::Coordinator);
        if replies.len() == 3 {
            let late = replies.remove(1);
            let twice = [replies.clone(), replies].concat();
            twice.into_iter().for_each(|reply| rack.deliver(reply));
            if !rack.hold(to_clients).is_empty() {
                rack.harm.insert(Harm::WrongOutcome);
            }
            rack.wire.push_back(late);
        } else {
            replies.into_iter().for_each(|reply| rack.deliver(reply));
        }
    }
    rack.run_for(20 * MILLISECOND);
    rack.expect_all(get, &keys, LARGE);
}

/// One reply is lost.
///
/// Protection: Keys without an answer are requested again, under the same number, and no others.
pub fn lost_replies(rack: &mut Rack) {
    let keys = some_keys(rack, LARGE);
    let get = rack.get(&keys);
    let replies = replies(rack);
    replies.into_iter().skip(1).for_each(|reply| rack.deliver(reply));
    let server_requests = rack.server_requests;
    rack.run_for(100 * MILLISECOND);
    rack.expect_all(get, &keys, LARGE);
    // Only the server with the lost key gets another request.
    if rack.server_requests > server_requests + 1 {
        rack.harm.insert(Harm::Flood);
    }
}

/// All requests are lost.
///
/// Protection: A request without an answer is sent again.
pub fn lost_requests(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    let get = rack.get(&keys);
    rack.wire.clear();
    rack.run_for(100 * MILLISECOND);
    rack.expect_all(get, &keys, SMALL);
}

/// A request of the coordinator to a server is lost.
///
/// Protection: The coordinator repeats its requests to servers.
pub fn requests_lost_behind_the_coordinator(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    let get = rack.get(&keys);
    if let Some(request) = rack.wire.pop_front() {
        rack.deliver(request);
    }
    rack.wire.pop_front();
    rack.run_for(100 * MILLISECOND);
    rack.expect_all(get, &keys, SMALL);
}

/// Replies arrive in reverse order.
///
/// Protection: STARTIDX gives the places of the keys of a reply.
pub fn replies_in_another_order(rack: &mut Rack) {
    let keys = some_keys(rack, LARGE);
    let get = rack.get(&keys);
    let replies = replies(rack);
    replies.into_iter().rev().for_each(|reply| rack.deliver(reply));
    rack.run();
    rack.expect_all(get, &keys, LARGE);
}

/// Some of the keys have no record.
///
/// Protection: A missing key is answered "not found".
pub fn keys_that_are_not_there(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    let absent = [rack.key_on(0, 7), rack.key_on(2, 7)];
    let server_requests = [&absent[..1], &keys[..], &absent[1..]].concat();
    let get = rack.get(&server_requests);
    rack.run();
    let values: Vec<_> = keys.iter().map(|key| Some(value_of(key, SMALL))).collect();
    rack.expect_values(get, &[&[None], &values[..], &[None]].concat());
}

/// A multiget has one key.
///
/// Protection: The last key's bit in KEYIDX is 1.
pub fn one_key(rack: &mut Rack) {
    let key = rack.key_on(1, 0);
    let keys = rack.filled(vec![key], SMALL);
    let get = rack.get(&keys);
    rack.run();
    rack.expect_all(get, &keys, SMALL);
}

/// Sixteen keys belong to one server, and their values fill several replies.
///
/// Protection: KEYIDX has the last key's bit of all 16; a group may be answered by several replies.
pub fn sixteen_keys_on_one_server(rack: &mut Rack) {
    let keys = (0..16).map(|nth| rack.key_on(1, nth)).collect();
    let keys = rack.filled(keys, LARGE);
    let get = rack.get(&keys);
    rack.run();
    rack.expect_all(get, &keys, LARGE);
    if rack.server_requests != 1 {
        rack.harm.insert(Harm::Flood);
    }
}

/// Sixteen keys belong to 16 servers.
///
/// Protection: A server reads only NUMKEY keys from STARTIDX on.
pub fn sixteen_keys_on_16_servers(rack: &mut Rack) {
    let keys = (0..16).rev().map(|server| rack.key_on(server, 0)).collect();
    let keys = rack.filled(keys, SMALL);
    let get = rack.get(&keys);
    rack.run();
    rack.expect_all(get, &keys, SMALL);
    if rack.server_requests != 16 {
        rack.harm.insert(Harm::Flood);
    }
}

/// A multiget names some keys several times.
///
/// Protection: Each place gets the answer of its key.
pub fn repeated_key(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    let server_requests = [&keys[1..2], &keys[..], &keys[1..3], &keys[1..2]].concat();
    let get = rack.get(&server_requests);
    rack.run();
    rack.expect_all(get, &server_requests, SMALL);
    let read: u64 = rack.servers.iter().map(|server| server.keys_read()).sum();
    if read != keys.len() as u64 {
        rack.harm.insert(Harm::Flood);
    }
}

// -------------------------------------------------------------------- numbers

/// Both clients pass the end of the request numbers with reads and writes under way.
///
/// Protection: Numbers are compared as serial numbers.
pub fn numbers_that_wrap(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    let names: Vec<Vec<u8>> = (0..8).map(|nth| rack.key_on(0, 10 + nth)).collect();
    // The numbers of both clients wrap while all of these are under way.
    let gets: Vec<u64> = (0..8).map(|_| rack.get(&keys)).collect();
    let puts: Vec<u64> = names.iter().map(|name| rack.put(name, b"new")).collect();
    let more: Vec<u64> = (0..8).map(|_| rack.get(&keys)).collect();
    let held = rack.hold(|_| true);
    held.into_iter().rev().for_each(|frame| rack.deliver(frame));
    rack.run();
    gets.into_iter().chain(more).for_each(|get| rack.expect_all(get, &keys, SMALL));
    puts.into_iter().for_each(|put| rack.expect_done(put));
    names.iter().for_each(|name| rack.expect_stored(name, Some(b"new")));
}

/// A client passes the end of the request numbers with one write after the other.
///
/// Protection: Servers compare numbers as serial numbers.
pub fn writes_around_the_wrap(rack: &mut Rack) {
    let names: Vec<Vec<u8>> = (0..20).map(|nth| rack.key_on(0, 10 + nth)).collect();
    for name in &names {
        let put = rack.put(name, b"new");
        rack.run();
        rack.expect_done(put);
        rack.expect_stored(name, Some(b"new"));
    }
}

/// Two clients read other keys under the same number.
///
/// Protection: Clients match replies by client and number, the coordinator matches requests
/// likewise.
pub fn two_clients_with_one_number(rack: &mut Rack) {
    let first = some_keys(rack, SMALL);
    let other = (0..3).map(|server| rack.key_on(server, 5)).collect();
    let other = rack.filled(other, SMALL);
    // Operations alternate between the two clients, and both start with the same number.
    let gets = [rack.get(&first), rack.get(&other)];
    let replies = replies(rack);
    replies.into_iter().rev().for_each(|reply| rack.deliver(reply));
    rack.expect_all(gets[0], &first, SMALL);
    rack.expect_all(gets[1], &other, SMALL);
}

/// Replies arrive for an older request with the same number and other keys.
///
/// Protection: A reply must name the keys that were requested at its places.
pub fn reply_to_an_older_request(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    let get = rack.get(&keys);
    // A reply to an earlier request with this number: other keys at the same places.
    for at in 0..4 {
        let addresses = Addresses {
            source: server_ip(0),
            destination: client_ip(1),
            fields: rack.layout.fields,
        };
        for number in 1..=4 {
            let header = Header::request(Op::Mget, number, 1, &group([0]));
            let mut frame = Vec::new();
            let mut reply =
                ReplyWriter::begin(&mut frame, &addresses, &header.answer(at, 0), Answer::Ok);
            reply.entry(&mut frame, b"other key", true, Some(b"of another incarnation"));
            reply.finish(&mut frame);
            rack.deliver((Host::Clients, frame));
        }
    }
    rack.run();
    rack.expect_all(get, &keys, SMALL);
}

// ------------------------------------------------------------------- failures

/// One server is down until after the deadline.
///
/// Protection: All or nothing. At its deadline the coordinator sends the keys that have arrived, so
/// the client can name the missing server.
pub fn one_server_down(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    rack.down = Some(1);
    let get = rack.get(&keys);
    rack.run_for(DEADLINE / 2);
    if rack.outcome(get).is_some() {
        rack.harm.insert(Harm::WrongOutcome);
    }
    rack.run_for(DEADLINE);
    match rack.outcome(get) {
        Some(Outcome::TimedOut { missing }) if missing.starts_with("0x") => {
            if rack.client().last_missing() != [1] {
                rack.harm.insert(Harm::WrongMissing);
            }
        }
        Some(Outcome::TimedOut { .. }) => _ = rack.harm.insert(Harm::WrongMissing),
        None => _ = rack.harm.insert(Harm::NoAnswer),
        Some(_) => _ = rack.harm.insert(Harm::WrongOutcome),
    }
    // Other keys are served, and these again after the server's restart.
    let get = rack.get(&keys[..2]);
    rack.run();
    rack.expect_all(get, &keys[..2], SMALL);
    rack.down = None;
    let get = rack.get(&keys);
    rack.run();
    rack.expect_all(get, &keys, SMALL);
}

/// The store of one server fails.
///
/// Protection: If the store fails for a key, the request and its operation fail.
pub fn store_that_fails(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    rack.fails = Some(2);
    let get = rack.get(&keys);
    let others = rack.get(&keys[..2]);
    let put = rack.put(&rack.key_on(2, 3), b"new");
    rack.run();
    for token in [get, put] {
        if !matches!(rack.outcome(token), Some(Outcome::Refused(_))) {
            rack.harm.insert(Harm::WrongOutcome);
        }
    }
    rack.expect_all(others, &keys[..2], SMALL);
    rack.fails = None;
    let get = rack.get(&keys);
    rack.run();
    rack.expect_all(get, &keys, SMALL);
}

// --------------------------------------------------------------------- coordinator

/// A server is down, and the coordinator receives more requests than its limit.
///
/// Protection: The number of requests under way is limited; further ones are answered "overloaded".
pub fn coordinator_above_its_limit(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    rack.down = Some(0);
    let gets: Vec<u64> = (0..20).map(|_| rack.get(&keys)).collect();
    rack.run();
    if rack.coordinator().under_way() > 4 {
        rack.harm.insert(Harm::Unlimited);
    }
    if rack.coordinator().stats().most_under_way > 4 {
        rack.harm.insert(Harm::Unlimited);
    }
    rack.down = None;
    rack.run_for(DEADLINE * 9 / 10);
    gets.into_iter().for_each(|get| rack.expect_all(get, &keys, SMALL));
}

/// A copy of a request arrives while the servers have not answered.
///
/// Protection: A copy joins the request under way.
pub fn copy_of_a_request_under_way(rack: &mut Rack) {
    let keys = some_keys(rack, SMALL);
    rack.hangs = true;
    let get = rack.get(&keys);
    let copies: Vec<_> = rack.wire.iter().cloned().collect();
    rack.run();
    let server_requests = rack.server_requests;
    if rack.architecture == Architecture::CoordiMc {
        copies.into_iter().for_each(|copy| rack.deliver(copy));
    }
    rack.run();
    if rack.server_requests > server_requests {
        rack.harm.insert(Harm::Flood);
    }
    rack.hangs = false;
    rack.work();
    rack.run();
    rack.expect_all(get, &keys, SMALL);
}
