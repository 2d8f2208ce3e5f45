//! What takes effect in order, and what does not depend on how bytes are split.

use std::collections::HashMap;

use super::world::{Options, World};
use crate::request::tests::{Random, request};

#[test]
fn replies_are_in_the_order_of_requests() {
    let mut world = World::new();
    let client = world.machine.connect();
    world.store("slow", "1");
    world.store("fast", "2");
    world.send(client, &["GET slow", "PING", "GET fast"]);
    world.complete(1);
    assert_eq!(world.output(client), "");
    world.complete(0);
    assert_eq!(world.output(client), "$1\r\n1\r\n+PONG\r\n$1\r\n2\r\n");
}

#[test]
fn reads_of_a_pipeline_run_concurrently_and_each_for_itself() {
    let mut world = World::new();
    let client = world.machine.connect();
    world.lose("k50");
    let lines: Vec<String> = (0..100).map(|number| format!("GET k{number}")).collect();
    world.send(client, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(world.under_way.len(), 100);
    world.settle();
    let replies = world.output(client);
    assert_eq!((replies.matches("$-1").count(), replies.matches("-TIMEOUT").count()), (99, 1));
}

/// Operations take effect in a random order, so without the rule an earlier write would overwrite a
/// later one.
#[test]
fn commands_with_a_common_key_take_effect_in_order() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let separate_mset = true;
        let mut world = World::with(Options { separate_mset, ..Options::default() });
        let client = world.machine.connect();
        let mut model: HashMap<usize, usize> = HashMap::new();
        let (mut bytes, mut expected) = (Vec::new(), String::new());
        let shown = |value: Option<&usize>| match value {
            Some(value) => format!("${}\r\n{value}\r\n", value.to_string().len()),
            None => "$-1\r\n".to_owned(),
        };
        for number in 0..300 {
            let (key, other) = (random.below(3), random.below(3));
            let line = match random.below(6) {
                0 => {
                    model.insert(key, number);
                    expected += "+OK\r\n";
                    format!("SET {key} {number}")
                }
                1 => {
                    expected += &format!(":{}\r\n", u8::from(model.remove(&key).is_some()));
                    format!("DEL {key}")
                }
                2 => {
                    expected += &shown(model.get(&key));
                    format!("GET {key}")
                }
                3 => {
                    model.insert(key, number);
                    model.insert(other, number);
                    expected += "+OK\r\n";
                    format!("MSET {key} {number} {other} {number}")
                }
                4 => {
                    let length = model.get(&key).map_or(0, |value| value.to_string().len());
                    expected += &format!(":{length}\r\n");
                    format!("STRLEN {key}")
                }
                _ => {
                    expected += "*3\r\n";
                    (0..3).for_each(|key| expected += &shown(model.get(&key)));
                    "MGET 0 1 2".to_owned()
                }
            };
            bytes.extend(request(&line.split(' ').collect::<Vec<_>>()));
        }
        world.send_bytes(client, &bytes);
        let mut replies = String::new();
        while !world.under_way.is_empty() {
            world.settle_at_random(&mut random);
            replies += &world.output(client);
        }
        assert_eq!(replies, expected, "seed {seed}");
        assert!(world.max_under_way > 1);
    }
}

#[test]
fn dbsize_of_a_pipeline_counts_the_writes_before_it() {
    for seed in 0..20 {
        let mut world = World::new();
        let client = world.machine.connect();
        let lines = ["SET a 1", "SET b 1", "DBSIZE", "DBSIZE", "SET c 1", "DEL a", "DBSIZE"];
        world.send(client, &lines);
        world.settle_at_random(&mut Random(seed));
        let expected = "+OK\r\n+OK\r\n:2\r\n:2\r\n+OK\r\n:1\r\n:2\r\n";
        assert_eq!(world.output(client), expected);
    }
}

#[test]
fn a_long_pipeline_of_dbsize_is_answered() {
    let mut world = World::new();
    let client = world.machine.connect();
    world.send(client, &["DBSIZE"; 3000]);
    assert_eq!(world.output(client), ":0\r\n".repeat(3000));
}

#[test]
fn the_version_of_the_protocol_changes_with_hello() {
    let mut world = World::new();
    let client = world.machine.connect();
    world.send(client, &["GET none", "HELLO 3", "GET none", "HELLO 2", "GET none"]);
    world.settle();
    let replies = world.output(client);
    assert!(replies.starts_with("$-1\r\n%7\r\n$6\r\nserver\r\n"), "{replies}");
    assert!(replies.contains("*0\r\n_\r\n*14\r\n"), "{replies}");
    assert!(replies.ends_with("*0\r\n$-1\r\n"), "{replies}");
}

/// The replies to random requests, some malformed, are the same however the bytes are split and
/// however operations overtake each other.
#[test]
fn replies_do_not_depend_on_how_the_bytes_are_split() {
    let good = [
        request(&["SET", "a", "1"]),
        request(&["SET", "b", "a value\r\nof lines"]),
        request(&["MGET", "a", "b", "c"]),
        request(&["DEL", "a", "b"]),
        request(&["GET", "a"]),
        request(&["DBSIZE"]),
        request(&["HELLO", "3"]),
        request(&["NOSUCH", "a"]),
        b"PING\r\n".to_vec(),
        b"GET \"a\"\r\n".to_vec(),
        b"*0\r\n".to_vec(),
    ];
    let bad = [request(&["QUIT"]), b"*3\r\n".to_vec(), b"$9\r\n".to_vec(), b"ECHO 'a\r\n".to_vec()];
    for seed in 0..500 {
        let mut random = Random(seed);
        let mut data = Vec::new();
        for _ in 0..1 + random.below(30) {
            data.extend_from_slice(&good[random.below(good.len())]);
            if random.below(20) == 0 {
                data.extend_from_slice(&bad[random.below(bad.len())]);
            }
            if random.below(20) == 0 {
                let length = random.below(40);
                data.extend(random.bytes(length));
            }
        }
        let mut found: Vec<(String, bool)> = Vec::new();
        for attempt in 0..5 {
            let mut world = World::new();
            let client = world.machine.connect();
            let (mut rest, mut replies) = (&data[..], String::new());
            while !rest.is_empty() {
                let length = match attempt {
                    0 => rest.len(),
                    1 => 1,
                    _ => 1 + random.below(rest.len().min(50)),
                };
                let (segment, after) = rest.split_at(length);
                world.send_bytes(client, segment);
                while random.below(2) == 0 && !world.under_way.is_empty() {
                    world.complete(random.below(world.under_way.len()));
                }
                replies += &world.output(client);
                rest = after;
            }
            world.machine.on_end_of_input(client);
            world.settle_at_random(&mut random);
            replies += &world.output(client);
            found.push((replies, world.machine.connection(client).unwrap().is_finished()));
        }
        assert!(found[0].1, "seed {seed}");
        assert!(found.iter().all(|it| *it == found[0]), "seed {seed}: {found:#?}");
    }
}
