//! Clients that speak another protocol: closed before a line of theirs is executed.

use std::sync::atomic::Ordering;

use super::world::World;
use crate::request::tests::request;

/// What browsers and other programs send first, each followed by a command of the attacker.
const FOREIGN: [&[u8]; 24] = [
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1:6380\r\n\r\n",
    b"post / HTTP/1.1\r\n",
    b"PoSt /x HTTP/1.0\n",
    b"  \t POST / HTTP/1.1\r\n",
    b"\r\n\r\nPOST / HTTP/1.1\r\n",
    b"POST\r\n",
    b"\"POST\" / HTTP/1.1\r\n",
    b"\"\\x50OST\" / HTTP/1.1\r\n",
    b"Host: 127.0.0.1\r\n",
    b"hOST: 127.0.0.1\r\n",
    b"Host:127.0.0.1\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n",
    b"GET / HTTP/1.1\r\n",
    b"get / http/1.0\r\n",
    b"PUT /a HTTP/1.1\r\n",
    b"OPTIONS * HTTP/1.1\r\n",
    b"DELETE / HTTP/1.1\r\n",
    b"CONNECT a:80 HTTP/1.1\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"OPTIONS rtsp://a RTSP/1.0\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    b"\x05\x01\x00\r\n",
    b"*1\r\n$4\r\nPOST\r\n",
    b"*2\r\n$5\r\nhost:\r\n$1\r\na\r\n",
];

fn foreign(world: &World) -> u64 {
    world.machine.foreign().load(Ordering::Relaxed)
}

#[test]
fn no_line_after_another_protocol_is_executed() {
    for first in FOREIGN {
        for body in [b"SET pwned page\r\n".to_vec(), request(&["SET", "pwned", "page"])] {
            let mut world = World::new();
            let client = world.machine.connect();
            world.send_bytes(
                client,
                &[first, &b"Content-Type: text/plain\r\n\r\n"[..], &body].concat(),
            );
            world.send_bytes(client, &body);
            world.settle();
            let shown = String::from_utf8_lossy(first);
            assert!(!world.output(client).contains("OK"), "{shown}");
            assert!(world.calls.is_empty(), "{shown}");
            assert!(world.stored.is_empty(), "{shown}");
            assert!(world.machine.connection(client).is_none_or(|it| it.is_finished()), "{shown}");
            assert_eq!(foreign(&world), 1, "{shown}");
        }
    }
}

#[test]
fn it_is_found_however_the_bytes_are_split() {
    for first in FOREIGN {
        let mut world = World::new();
        let client = world.machine.connect();
        for byte in [first, &b"\r\nSET pwned page\r\n"[..]].concat() {
            world.send_bytes(client, &[byte]);
        }
        world.settle();
        assert!(world.calls.is_empty(), "{}", String::from_utf8_lossy(first));
        assert_eq!(foreign(&world), 1);
    }
}

#[test]
fn commands_before_it_are_answered() {
    let mut world = World::new();
    let client = world.machine.connect();
    world.send_bytes(client, b"SET a 1\r\nPOST / HTTP/1.1\r\nSET a 2\r\n");
    world.settle();
    assert_eq!(world.output(client), "+OK\r\n");
    assert_eq!(world.stored[&World::wire("a")], b"1");
}

#[test]
fn other_clients_are_served() {
    let mut world = World::new();
    let (page, client) = (world.machine.connect(), world.machine.connect());
    world.send_bytes(page, b"POST / HTTP/1.1\r\n");
    assert_eq!(world.call(client, "SET a 1"), "+OK\r\n");
}

#[test]
fn the_words_are_ordinary_as_arguments() {
    let mut world = World::new();
    let client = world.machine.connect();
    for line in [
        "SET POST 1",
        "SET Host: 1",
        "GET POST",
        "SET a POST",
        "SET a HTTP/1.1",
        "ECHO POST",
        "DEL / HTTP/1.1",
        "GET /",
        "PING HTTP/1.1",
        "MGET / HTTP/1.1",
        "EXISTS \u{fc} HTTP/1.1",
    ] {
        let whole = format!("{line}\r\n");
        world.send_bytes(client, whole.as_bytes());
        world.settle();
        let reply = world.output(client);
        assert!(!reply.is_empty() && !reply.starts_with('-'), "{line}: {reply}");
    }
    for words in [["SET", "Host:", "POST"], ["SET", "\u{16}\u{3}", "HTTP/1.1"]] {
        world.send_bytes(client, &request(&words));
        world.settle();
        assert_eq!(world.output(client), "+OK\r\n");
    }
    assert_eq!(foreign(&world), 0);
}

#[test]
fn info_counts_such_connections() {
    let mut world = World::new();
    for _ in 0..3 {
        let page = world.machine.connect();
        world.send_bytes(page, b"POST / HTTP/1.1\r\nHost: a\r\n");
    }
    let client = world.machine.connect();
    assert!(world.call(client, "INFO stats").contains("netkv_foreign_connections:3\r\n"));
}
