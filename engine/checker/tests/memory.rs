//! Memory depends on the number of keys, not on the number of operations. The test is a program of
//! its own, since it measures the memory of its process.
#![cfg(target_os = "linux")]

use std::fs::read_to_string;

use netkv_checker::{Answer, Checker, Observed, Verdict, WriteId, WriteKind};
use netkv_workload::{Random, key_of};

const KEYS: u64 = 200_000;
/// Maximum number of pending operations.
const DEPTH: usize = 1000;

/// Memory of this process in bytes.
fn resident() -> u64 {
    let pages = read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Clients that read and write; some of their writes get no reply.
struct Load {
    checker: Checker,
    random: Random,
    /// Key ids and requests of the pending writes.
    writes: Vec<(u64, WriteId)>,
    number: u32,
}

impl Load {
    /// Invokes a write. Beyond `DEPTH` pending writes, completes or gives up one, and may read it.
    fn step(&mut self, id: u64) {
        self.number += 1;
        let write = WriteId { client: 1, request: self.number };
        let now = u64::from(self.number) * 1000;
        self.checker.begin_write(now, &key_of(id), write, WriteKind::Put, true);
        self.writes.push((id, write));
        if self.writes.len() <= DEPTH {
            return;
        }
        let at = self.random.below(self.writes.len() as u64) as usize;
        let (id, write) = self.writes.swap_remove(at);
        let key = key_of(id);
        if self.number.is_multiple_of(1000) {
            self.checker.give_up_write(&key, write);
        } else {
            self.checker.end_write(now, &key, write);
        }
        if self.number.is_multiple_of(4) {
            let ticket = self.checker.begin_read(now, &key);
            let observed = Observed::Value(write);
            let answer =
                Answer { reader: write, observed, exists: true, issued: true, last: false };
            let verdict = self.checker.end_read(now, &key, ticket, answer);
            assert_ne!(verdict, Verdict::Phantom);
        }
    }
}

#[test]
fn memory_depends_on_the_keys_and_not_on_the_operations() {
    let before = resident();
    let (checker, random) = (Checker::new(), Random::new(1, 1));
    let mut load = Load { checker, random, writes: Vec::new(), number: 0 };
    (0..KEYS).for_each(|id| load.step(id));
    let first = resident() - before;
    let (first_keys, round) = (load.checker.written() as u64, 2 * KEYS);
    for _ in 0..round {
        let id = load.random.below(KEYS);
        load.step(id);
    }
    let second = resident() - before;
    for _ in 0..round {
        let id = load.random.below(KEYS);
        load.step(id);
    }
    let third = resident() - before;
    assert_eq!((first_keys, load.checker.written() as u64), (KEYS, KEYS));
    let summary = format!("{first}, {second}, {third} bytes for {KEYS} keys");
    // 18 bytes a key with the overhead of the allocator, and the memory that the limits permit.
    assert!(first < 25 * KEYS + (40 << 20), "{summary}");
    assert!(third < second + 4 * round, "{summary}");
}
