//! Limits of operations, clients and memory, and clients that leave.

use super::world::{Options, World};
use crate::request::tests::request;

#[test]
fn operations_under_way_are_limited() {
    let mut world = World::with(Options { under_way: 20, ..Options::default() });
    let clients: Vec<u64> = (0..5).map(|_| world.machine.connect()).collect();
    for &client in &clients {
        world.send(client, &(0..100).map(|_| "GET k").collect::<Vec<_>>());
    }
    world.settle();
    for client in clients {
        assert_eq!(world.output(client), "$-1\r\n".repeat(100));
    }
    assert_eq!(world.max_under_way, 20);
}

#[test]
fn a_command_of_more_keys_than_may_be_under_way_runs_alone() {
    let (separate_mset, under_way) = (true, 3);
    let mut world = World::with(Options { separate_mset, under_way, ..Options::default() });
    let client = world.machine.connect();
    world.send(client, &["SET z 1", "MSET a 1 b 2 c 3 d 4", "SET y 1"]);
    assert_eq!(world.under_way.len(), 1);
    world.complete(0);
    assert_eq!(world.under_way.len(), 4);
    (0..3).for_each(|_| world.complete(0));
    assert_eq!((world.under_way.len(), world.calls.len()), (1, 5));
    world.settle();
    assert_eq!(world.output(client), "+OK\r\n".repeat(3));
}

#[test]
fn a_client_that_does_not_read_has_few_requests_under_way() {
    let mut world = World::new();
    let (slow, other) = (world.machine.connect(), world.machine.connect());
    world.store("big", &"v".repeat(1000));
    let reads = request(&["GET", "big"]).repeat(3000);
    let mut sent = 0;
    while world.machine.connection(slow).unwrap().wants_input() {
        world.send_bytes(slow, &reads);
        world.settle();
        sent += 3000;
        assert!(sent < 10_000);
    }
    let started = world.calls.len();
    assert!(started < 2000, "{started} of {sent} have started");
    assert_eq!(world.call(other, "GET a"), "$-1\r\n");
    // The client reads again: replies make room for more requests.
    let mut replies = world.output(slow);
    while !world.under_way.is_empty() {
        world.settle();
        replies += &world.output(slow);
    }
    assert_eq!(replies.matches("$1000\r\n").count(), sent);
}

#[test]
fn replies_that_a_client_does_not_read_take_little_memory() {
    let mut world = World::new();
    let client = world.machine.connect();
    let echo = request(&["ECHO", &"v".repeat(1000)]).repeat(50);
    let mut sent = 0;
    while world.machine.connection(client).unwrap().wants_input() {
        world.machine.on_input(client, &echo);
        sent += 50;
        assert!(sent < 10_000);
    }
    assert!(world.machine.connection(client).unwrap().output().len() < 300_000);
    assert_eq!(world.output(client).matches("$1000\r\n").count(), sent);
}

#[test]
fn a_client_beyond_the_limit_is_refused() {
    let mut world = World::with(Options { max_clients: 2, ..Options::default() });
    let (one, two) = (world.machine.connect(), world.machine.connect());
    let three = world.machine.connect();
    assert_eq!(world.output(three), "-ERR max number of clients reached\r\n");
    assert!(world.machine.connection(three).unwrap().is_finished());
    world.machine.remove(three);
    world.machine.remove(two);
    let three = world.machine.connect();
    assert_eq!([world.call(one, "PING"), world.call(three, "PING")], ["+PONG\r\n", "+PONG\r\n"]);
}

#[test]
fn a_half_closed_connection_gets_its_replies() {
    let mut world = World::new();
    let client = world.machine.connect();
    world.store("a", "1");
    world.send(client, &["GET a", "GET a", "GET a"]);
    world.machine.on_end_of_input(client);
    assert!(!world.machine.connection(client).unwrap().is_finished());
    world.settle();
    assert_eq!(world.output(client), "$1\r\n1\r\n".repeat(3));
    assert!(world.machine.connection(client).unwrap().is_finished());
}

#[test]
fn waiting_commands_of_a_closed_connection_are_dropped() {
    let mut world = World::with(Options { under_way: 1, ..Options::default() });
    let (client, other) = (world.machine.connect(), world.machine.connect());
    // The third waits for the first, the others for permits.
    world.send(client, &["SET a 1", "SET b 1", "SET a 2"]);
    world.send(other, &["GET a"]);
    world.machine.remove(client);
    world.settle();
    assert_eq!(world.output(other), "$1\r\n1\r\n");
    assert_eq!(world.calls.len(), 2);
    assert_eq!(world.stored.len(), 1);
}

#[test]
fn requests_that_have_arrived_are_answered_at_the_end() {
    let mut world = World::new();
    let (client, idle) = (world.machine.connect(), world.machine.connect());
    world.send(client, &["SET a 1", "SET a 2"]);
    world.machine.drain();
    assert!(world.machine.connection(idle).unwrap().is_finished());
    world.send(client, &["SET a 3"]);
    world.settle();
    assert_eq!(world.output(client), "+OK\r\n+OK\r\n");
    assert!(world.machine.connection(client).unwrap().is_finished());
    assert_eq!(world.stored[&World::wire("a")], b"2");
}
