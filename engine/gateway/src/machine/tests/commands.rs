//! Commands, and failures of the rack.

use netkv_rack::session::{OwnedKey, OwnedOp};

use super::world::{KEYS, Options, World};
use crate::keys::{Encoding, Keys};
use crate::request::tests::request;

fn separate() -> (World, u64) {
    let mut world = World::with(Options { separate_mset: true, ..Options::default() });
    let client = world.machine.connect();
    (world, client)
}

fn world() -> (World, u64) {
    let mut world = World::new();
    let client = world.machine.connect();
    (world, client)
}

#[test]
fn only_keys_of_an_unreachable_server_fail() {
    let (mut world, client) = world();
    world.lose("lost");
    let server = KEYS.server(&KEYS.name(b"lost").unwrap());
    let no_answer = format!("TIMEOUT No answer within 2 s about b'lost' (server {server}).");
    let lines =
        ["SET a 1", "GET lost", "MGET a lost", "SET lost 1", "GET a", "MGET a b", "DEL a lost b"];
    world.send(client, &lines);
    world.settle();
    assert_eq!(
        world.output(client),
        format!(
            "+OK\r\n-{no_answer}\r\n-{no_answer}\r\n-UNKNOWN The switch has failed while b'lost' \
             was being written: the effect of the write is unknown.\r\n$1\r\n1\r\n*2\r\n$1\r\n1\r\n\
             $-1\r\n-{no_answer} (2 of 3 keys are deleted.)\r\n"
        )
    );
}

#[test]
fn keys_and_values_beyond_the_limits_are_errors() {
    let (mut world, client) = world();
    let large = "v".repeat(2000);
    assert_eq!(
        world.error(client, &format!("SET a {large}")),
        "ERR A value has up to 1,024 bytes; that of b'a' has 2,000."
    );
    let long = "k".repeat(256);
    for command in ["GET", "MGET a", "SET", "DEL", "DEL a"] {
        let value = if command == "SET" { " 1" } else { "" };
        let error = world.error(client, &format!("{command} {long}{value}"));
        assert!(error.starts_with("ERR A key has 1 to 255 bytes, not 256."), "{error}");
    }
    assert_eq!(world.call(client, "PING"), "+PONG\r\n");
}

#[test]
fn an_unsupported_option_of_set_is_refused() {
    let (mut world, client) = world();
    for option in ["EX 10", "px 10", "NX", "XX", "get", "KEEPTTL", "EXAT 1", "PXAT 1"] {
        let name = option.split(' ').next().unwrap().to_uppercase();
        let error = world.error(client, &format!("SET a b {option}"));
        assert!(error.starts_with(&format!("ERR SET with {name} is not supported: ")), "{error}");
    }
    assert_eq!(world.error(client, "SET a b nothing"), "ERR syntax error");
    assert!(world.calls.is_empty());
}

#[test]
fn atomic_commands_are_refused_with_an_alternative() {
    let (mut world, client) = world();
    let refusal = world.error(client, "MSET a 1 b 2");
    assert!(refusal.contains("send SETs in a pipeline"), "{refusal}");
    assert!(refusal.contains("--mset separate"), "{refusal}");
    assert!(world.error(client, "msetnx a 1").contains("cannot depend on the stored value"));
    assert!(!world.call(client, "COMMAND LIST").contains("mset"));
    for end in ["EXEC", "DISCARD"] {
        assert!(world.error(client, "MULTI").contains("without MULTI"));
        assert!(world.error(client, "SET a 1").contains("EXEC or DISCARD are not executed"));
        assert!(world.error(client, end).starts_with("EXECABORT"));
    }
    assert!(world.calls.is_empty());
    assert_eq!(world.call(client, "SET a 1"), "+OK\r\n");
    world.error(client, "MULTI");
    assert_eq!(world.call(client, "RESET"), "+RESET\r\n");
    assert_eq!(world.call(client, "GET a"), "$1\r\n1\r\n");
}

#[test]
fn the_keys_of_one_command_are_limited() {
    let (mut world, client) = world();
    let keys: Vec<String> = (0..4097).map(|number| format!("k{number}")).collect();
    let error = world.error(client, &format!("MGET {}", keys.join(" ")));
    assert!(error.contains("4096 keys, not 4097"), "{error}");
    let reply = world.call(client, &format!("MGET {}", keys[1..].join(" ")));
    assert_eq!(reply, format!("*4096\r\n{}", "$-1\r\n".repeat(4096)));
}

#[test]
fn mget_is_one_request_for_the_rack() {
    let (mut world, client) = world();
    world.store("a", "1");
    world.store("c", "3");
    assert_eq!(world.call(client, "MGET a b c"), "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n3\r\n");
    assert_eq!(world.calls, [OwnedOp::Get(["a", "b", "c"].map(World::wire).into_iter().collect())]);
}

#[test]
fn an_mget_of_more_keys_than_a_multiget_is_several() {
    let keys = Keys { encoding: Encoding::Named, ..KEYS };
    let mut world = World::with(Options { keys, ..Options::default() });
    let client = world.machine.connect();
    for key in ["key0", "key128", "key299"] {
        world.stored.insert(key.as_bytes().into(), key.as_bytes().to_vec());
    }
    let keys: Vec<String> = (0..300).map(|number| format!("key{number}")).collect();
    let reply = world.call(client, &format!("MGET {}", keys.join(" ")));
    let sizes: Vec<usize> = world
        .calls
        .iter()
        .map(|call| if let OwnedOp::Get(keys) = call { keys.len() } else { 0 })
        .collect();
    assert_eq!(sizes, [128, 128, 44]);
    let values: Vec<&str> = reply.lines().skip(1).filter(|line| *line != "$-1").collect();
    assert_eq!(values, ["$4", "key0", "$6", "key128", "$6", "key299"]);
    assert_eq!(reply.matches("$-1").count(), 297);
    world.lost.insert(OwnedKey::from_slice(b"key200"));
    let error = world.error(client, &format!("MGET {}", keys.join(" ")));
    assert!(error.starts_with("TIMEOUT No answer within 2 s about b'key200' (server "), "{error}");
}

#[test]
fn del_counts_existing_keys() {
    let (mut world, client) = world();
    for _ in 0..2 {
        world.store("a", "1");
        world.store("b", "2");
        assert_eq!(world.call(client, "DEL a none b a"), ":2\r\n");
        assert_eq!(world.call(client, "UNLINK a"), ":0\r\n");
        assert!(world.stored.is_empty());
    }
}

#[test]
fn properties_of_keys() {
    let (mut world, client) = world();
    world.store("a", "123");
    let lines = ["TYPE a", "TYPE b", "STRLEN a", "STRLEN b", "TTL a", "PTTL b", "EXISTS a b a"];
    world.send(client, &lines);
    world.settle();
    let expected = "+string\r\n+none\r\n:3\r\n:0\r\n:-1\r\n:-2\r\n:2\r\n";
    assert_eq!(world.output(client), expected);
}

#[test]
fn dbsize_counts_keys_stored_through_the_gateway() {
    let (mut world, client) = world();
    world.store("theirs", "1");
    world.lose("lost");
    let large = "v".repeat(2000);
    assert_eq!(world.call(client, "DBSIZE"), ":0\r\n");
    assert_eq!(world.call(client, "GET theirs"), "$1\r\n1\r\n");
    world.error(client, "SET lost 1");
    world.error(client, &format!("SET large {large}"));
    for number in 0..10 {
        world.call(client, &format!("SET k{} 1", number % 5));
    }
    let other = world.machine.connect();
    assert_eq!([world.call(client, "DBSIZE"), world.call(other, "DBSIZE")], [":5\r\n", ":5\r\n"]);
    assert_eq!(world.call(other, "DEL k0 k1 theirs"), ":3\r\n");
    world.stored.clear();
    assert_eq!(world.call(client, "DBSIZE"), ":3\r\n");
}

#[test]
fn dbsize_beyond_the_counting_limit_is_an_error() {
    let mut world = World::with(Options { max_known: 3, ..Options::default() });
    let client = world.machine.connect();
    for number in 0..4 {
        assert_eq!(world.call(client, "DBSIZE"), format!(":{number}\r\n"));
        world.call(client, &format!("SET k{number} 1"));
    }
    assert!(world.error(client, "DBSIZE").contains("counts up to 1,000,000 keys"));
    assert_eq!(world.call(client, "DEL k1"), ":1\r\n");
    assert!(world.error(client, "DBSIZE").contains("there were more"));
}

#[test]
fn mset_is_a_write_of_each_key() {
    let (mut world, client) = separate();
    assert_eq!(world.call(client, "MSET a 1 b 2 a 3"), "+OK\r\n");
    let put = |key, value: &str| OwnedOp::Put(World::wire(key), value.as_bytes().to_vec());
    assert_eq!(world.calls, [put("a", "3"), put("b", "2")]);
    assert!(world.call(client, "COMMAND LIST").contains("mset"));
    let info = world.call(client, "COMMAND INFO mset");
    assert!(info.contains("mset\r\n:-3\r\n*1\r\n+write\r\n:1\r\n:-1\r\n:2\r\n"), "{info}");
    assert!(world.error(client, "MSETNX c 1").contains("cannot depend"));
    let wrong = "ERR wrong number of arguments for 'mset' command";
    assert_eq!([world.error(client, "MSET a"), world.error(client, "MSET a 1 b")], [wrong, wrong]);
    assert!(world.error(client, "MULTI").contains("without MULTI"));
    assert!(world.error(client, "MSET c 1").contains("EXEC or DISCARD are not executed"));
}

#[test]
fn an_mset_that_fails_in_part_names_what_is_written() {
    let (mut world, client) = separate();
    world.lose("lost");
    let large = "v".repeat(2000);
    let too_large = "A value has up to 1,024 bytes; that of b'large' has 2,000.";
    assert_eq!(
        world.error(client, &format!("MSET a 1 large {large} lost 2 b 3")),
        "UNKNOWN The switch has failed while b'lost' was being written: the effect of the write is \
         unknown. (Of this MSET's 4 keys, written: 'a', 'b'; perhaps written: 'lost'; not written: \
         'large'.)"
    );
    assert_eq!(
        world.error(client, &format!("MSET c 1 large {large}")),
        format!(
            "ERR only 1 of 2 keys are written: {too_large} (Of this MSET's 2 keys, written: 'c'; \
             perhaps written: none; not written: 'large'.)"
        )
    );
    let error = world.error(client, &format!("MSET large {large} larger {large}"));
    assert!(error.starts_with(&format!("ERR {too_large} (Of this MSET's 2 keys")), "{error}");
    assert_eq!(world.error(client, &format!("MSET large {large}")), format!("ERR {too_large}"));
    assert_eq!(world.call(client, "DBSIZE"), ":3\r\n");
}

#[test]
fn an_mset_of_many_keys() {
    let (mut world, client) = separate();
    let pairs: Vec<String> = (0..4097).map(|number| format!("k{number} v")).collect();
    let error = world.error(client, &format!("MSET {}", pairs.join(" ")));
    assert!(error.contains("4096 keys, not 4097"), "{error}");
    assert_eq!(world.call(client, &format!("MSET {}", pairs[1..].join(" "))), "+OK\r\n");
    assert_eq!(world.call(client, "DBSIZE"), ":4096\r\n");
    (1..4097).for_each(|number| world.lose(&format!("k{number}")));
    let error = world.error(client, &format!("MSET {} {}", pairs[0], pairs[2..].join(" ")));
    assert!(error.contains("written: 'k0'; perhaps written: 'k2', 'k3',"), "{error}");
    assert!(error.contains("'k101' and 3995 more; not written: none"), "{error}");
    assert!(error.len() < 2000);
}

#[test]
fn every_command_is_answered_when_the_rack_is_lost() {
    let (mut world, client) = separate();
    world.send(client, &["MSET a 1 b 2", "GET a", "PING"]);
    world.machine.on_rack_lost("The session was closed.");
    let lost = "-NOTCONNECTED The session was closed.\r\n";
    assert_eq!(world.output(client), format!("{lost}{lost}+PONG\r\n"));
    assert!(world.machine.connection(client).unwrap().is_finished());
    let late = world.machine.connect();
    assert_eq!(world.call(late, "GET a"), lost);
}

#[test]
fn info_names_scheme_and_lab_and_counts() {
    let (mut world, client) = world();
    world.call(client, "SET a 1");
    world.call(client, "MGET a b c");
    world.call(client, "NOSUCH");
    let info = world.call(client, "INFO");
    for field in [
        "netkv_scheme:a scheme",
        "netkv_lab:lab",
        "tcp_port:6380",
        "keyspace_hits:1",
        "keyspace_misses:2",
        "total_error_replies:1",
        "total_commands_processed:4",
        "connected_clients:1",
    ] {
        assert!(info.contains(&format!("{field}\r\n")), "{field}: {info}");
    }
    let only = world.call(client, "INFO clients");
    assert!(only.contains("# Clients\r\nconnected_clients:1\r\n") && !only.contains("# Server"));
}

#[test]
fn command_lists_the_commands() {
    let (mut world, client) = world();
    let count = world.call(client, "COMMAND COUNT").trim_start_matches(':').to_owned();
    assert!(world.call(client, "COMMAND").starts_with(&format!("*{count}")));
    assert!(world.call(client, "COMMAND LIST").starts_with(&format!("*{count}")));
    let info = world.call(client, "COMMAND INFO get nosuch client|id");
    assert!(
        info.starts_with(
            "*3\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*3\r\n\
             +@read\r\n+@string\r\n+@fast\r\n*0\r\n*0\r\n*0\r\n$-1\r\n*10\r\n$9\r\nclient|id\r\n:2\r\n"
        ),
        "{info}"
    );
    let docs = world.call(client, "COMMAND DOCS mget nosuch");
    assert!(docs.starts_with("*2\r\n$4\r\nmget\r\n*6\r\n$7\r\nsummary\r\n"), "{docs}");
    let help = world.call(client, "CLIENT HELP");
    assert!(help.starts_with("*11\r\n+CLIENT <subcommand>"), "{help}");
}

#[test]
fn errors_show_the_bytes_of_a_request_on_one_line() {
    let (mut world, client) = world();
    world.send_bytes(client, &request(&[b"a\r\nb", &b"\n"[..]]));
    let expected = "-ERR unknown command 'a  b', with args beginning with: ' ' \r\n";
    assert_eq!(world.output(client), expected);
}
