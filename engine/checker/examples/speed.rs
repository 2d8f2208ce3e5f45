//! Measures the speed of the checker, as ratios to a loop of insertions into a hash map.
//!
//!     cargo run --release -p netkv-checker --example speed

use std::collections::HashMap;
use std::time::Instant;

use netkv_checker::{Answer, Checker, Observed, ReadTicket, WriteId, WriteKind};
use netkv_wire::Key;
use netkv_workload::{Random, Zipf, key_of};

const OPS: u32 = 4_000_000;
const KEYS: u64 = 1_000_000;
/// Number of pending operations.
const DEPTH: usize = 256;

fn main() {
    let mut random = Random::new(1, 1);
    let zipf = Zipf::new(KEYS, 0.99);
    let keys: Vec<Key> = (0..OPS).map(|_| key_of(zipf.draw(&mut random))).collect();
    let start = Instant::now();
    let mut map: HashMap<Key, u32> = HashMap::new();
    for (number, key) in keys.iter().enumerate() {
        map.insert(*key, number as u32);
    }
    let base = f64::from(OPS) / start.elapsed().as_secs_f64();
    println!("{:40} {:>12.0} operations/s, ratio 1", "plain HashMap, insert", base);
    for (name, writes, deletes, unwritten) in [
        ("reads of unwritten keys", 0.0, 0.0, true),
        ("5% writes", 0.05, 0.0, false),
        ("50% writes", 0.5, 0.0, false),
        ("50% writes, a tenth of them deletes", 0.5, 0.1, false),
    ] {
        let (rate, summary) = run(&keys, writes, deletes, unwritten);
        println!("{name:40} {rate:>12.0} operations/s, ratio {:.2}, {summary}", rate / base);
    }
}

enum Open {
    Read(ReadTicket, Option<WriteId>),
    Write,
}

/// Operations take effect when they begin, and end `DEPTH` operations later.
fn run(keys: &[Key], writes: f64, deletes: f64, unwritten: bool) -> (f64, String) {
    let mut random = Random::new(2, 2);
    let mut plan: Vec<(Option<WriteKind>, Option<WriteId>)> = Vec::with_capacity(keys.len());
    let mut values: HashMap<Key, Option<WriteId>> = HashMap::new();
    for (number, key) in keys.iter().enumerate() {
        let id = WriteId { client: 1, request: number as u32 + 1 };
        if random.unit() < writes {
            let delete = random.unit() < deletes;
            values.insert(*key, (!delete).then_some(id));
            plan.push((Some(if delete { WriteKind::Delete } else { WriteKind::Put }), None));
        } else {
            plan.push((None, values.get(key).copied().unwrap_or(Some(WriteId::INITIAL))));
        }
    }
    let mut checker = Checker::new();
    if unwritten {
        // Other keys are written, so that the checker has histories to look up.
        for number in 0..100_000 {
            let id = WriteId { client: 2, request: number };
            let key = key_of(KEYS + u64::from(number));
            checker.begin_write(0, &key, id, WriteKind::Put, true);
            checker.end_write(0, &key, id);
        }
    }
    let mut open: Vec<Option<(u32, Open)>> = (0..DEPTH).map(|_| None).collect();
    let start = Instant::now();
    for (number, key) in keys.iter().enumerate() {
        let now = number as u64 * 100;
        let slot = number % DEPTH;
        if let Some((before, what)) = open[slot].take() {
            end(&mut checker, now, &keys[before as usize], before, what);
        }
        let id = WriteId { client: 1, request: number as u32 + 1 };
        let what = match plan[number] {
            (Some(kind), _) => {
                checker.begin_write(now, key, id, kind, true);
                Open::Write
            }
            (None, value) => Open::Read(checker.begin_read(now, key), value),
        };
        open[slot] = Some((number as u32, what));
    }
    let rate = f64::from(OPS) / start.elapsed().as_secs_f64();
    let summary = checker.summary();
    (rate, format!("linearizable {:?}", summary.linearizable()))
}

fn end(checker: &mut Checker, now: u64, key: &Key, number: u32, what: Open) {
    let id = WriteId { client: 1, request: number + 1 };
    match what {
        Open::Write => {
            checker.end_write(now, key, id);
        }
        Open::Read(ticket, value) => {
            let observed = value.map_or(Observed::NotFound, Observed::Value);
            let answer = Answer { reader: id, observed, exists: true, issued: true, last: false };
            checker.end_read(now, key, ticket, answer);
        }
    }
}
