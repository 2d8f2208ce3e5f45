//! Measures the time of a table lookup by kind of table and number of entries, and compares it with
//! a linear search.
//!
//! `cargo run --release -p netkv-dataplane --example bench_tables [MAX_ENTRIES]`
//!
//! Entries are inserted and deleted through the control-plane API, in random order of priority.
//! Three of four keys match an entry, the fourth is random. The results are compared with those of
//! the linear search. Times are processor times. If other programs load the machine, only the
//! ratios are meaningful.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netkv_dataplane::{EntryAction, Random, Switch, SwitchOptions, TableEntry};
use netkv_ir::{Match, MatchKind, Value};
use netkv_p4::{Options, compile_source};

const SOURCE: &str = r#"
#include <core.p4>
#include <v1model.p4>
header q_h { bit<128> a; bit<32> b; bit<32> c; bit<16> d; bit<16> e; bit<8> f; }
struct hdr_t { q_h q; }
struct meta_t { }
parser P(packet_in p, out hdr_t h, inout meta_t m, inout standard_metadata_t s) {
  state start { p.extract(h.q); transition accept; }
}
control VC(inout hdr_t h, inout meta_t m) { apply {} }
control I(inout hdr_t h, inout meta_t m, inout standard_metadata_t s) {
  action go(bit<9> port) { s.egress_spec = port; }
  table exact128 { key = { h.q.a: exact; } actions = { go; } size = 1048576; }
  table lpm32 { key = { h.q.b: lpm; } actions = { go; } size = 1048576; }
  table lpm128 { key = { h.q.a: lpm; } actions = { go; } size = 1048576; }
  table ternary128 { key = { h.q.a: ternary; } actions = { go; } size = 1048576; }
  table range16 { key = { h.q.d: range; } actions = { go; } size = 1048576; }
  table range32 { key = { h.q.b: range; } actions = { go; } size = 1048576; }
  table acl {
    key = { h.q.b: ternary; h.q.c: ternary; h.q.d: range; h.q.e: range; h.q.f: optional; }
    actions = { go; } size = 1048576;
  }
  apply {
    exact128.apply(); lpm32.apply(); lpm128.apply(); ternary128.apply(); range16.apply();
    range32.apply(); acl.apply();
  }
}
control E(inout hdr_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }
control CC(inout hdr_t h, inout meta_t m) { apply {} }
control D(packet_out p, in hdr_t h) { apply { p.emit(h.q); } }
V1Switch(P(), VC(), I(), E(), CC(), D()) main;
"#;

const KEYS: usize = 4_096;

/// Masks of the table with few different masks: prefixes of 32 to 60 bits, half of them together
/// with the lower 64 bits.
const MASKS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut i = 0;
    while i < 16 {
        let lower = if i % 2 == 0 { 0 } else { u64::MAX as u128 };
        masks[i] = u128::MAX << (96 - 4 * (i / 2)) | lower;
        i += 1;
    }
    masks
};

/// Creates the matches of a random entry.
type MakeEntry = fn(&mut Random) -> Vec<Match>;

/// Cases: their name, table in the program, and generator of entries.
const CASES: [(&str, &str, MakeEntry); 11] = [
    ("exact 128", "I.exact128", |random| vec![Match::Exact(Value::new(128, wide(random)))]),
    ("lpm 32", "I.lpm32", |random| vec![prefix(random, 32, 8)]),
    ("lpm 128", "I.lpm128", |random| vec![prefix(random, 128, 16)]),
    ("ternary, 16 masks", "I.ternary128", |random| {
        let mask = MASKS[random.between(0, 15) as usize];
        vec![ternary(128, wide(random), mask)]
    }),
    ("ternary, all differ", "I.ternary128", |random| {
        let mask = wide(random) | wide(random);
        vec![ternary(128, wide(random), mask)]
    }),
    // Four bytes with 16 values each, so that no single byte excludes a group of rows.
    ("ternary, few values", "I.ternary128", |random| {
        vec![ternary(128, wide(random) & 0x000f_000f_000f_000f, 0x00ff_00ff_00ff_00ff)]
    }),
    ("range 16, narrow", "I.range16", |random| vec![range(random, 16, 20)]),
    ("range 16, any", "I.range16", |random| vec![range(random, 16, 0xffff)]),
    ("range 32, narrow", "I.range32", |random| vec![range(random, 32, 1 << 16)]),
    // All ranges cross one boundary of the first byte, which thus excludes none of them.
    ("range 32, crossing", "I.range32", |random| {
        let (below, above) = (random.between(1, 1 << 22), random.between(0, 1 << 22));
        let end = |value: u64| Value::new(32, u128::from(value));
        vec![Match::Range(end((1 << 31) - below), end((1 << 31) + above))]
    }),
    ("access list", "I.acl", access_list),
];

fn wide(random: &mut Random) -> u128 {
    u128::from(random.next()) << 64 | u128::from(random.next())
}

/// A mask of the upper `length` bits of `width`.
fn upper(width: u32, length: u32) -> u128 {
    let all = u128::MAX >> (128 - width);
    all & !all.checked_shr(length).unwrap_or(0)
}

fn ternary(width: u32, value: u128, mask: u128) -> Match {
    Match::Ternary(Value::new(width, value & mask), Value::new(width, mask))
}

fn prefix(random: &mut Random, width: u32, shortest: u64) -> Match {
    let length = random.between(shortest, u64::from(width)) as u32;
    Match::Lpm(Value::new(width, wide(random) & upper(width, length)), length)
}

/// A range of up to `longest + 1` values.
fn range(random: &mut Random, width: u32, longest: u64) -> Match {
    let largest = (1 << width) - 1;
    let low = random.between(0, largest);
    let high = random.between(low, (low + longest).min(largest));
    Match::Range(Value::new(width, u128::from(low)), Value::new(width, u128::from(high)))
}

/// An access control list: two prefixes of some networks, ports of some services, a protocol.
fn access_list(random: &mut Random) -> Vec<Match> {
    let mut address = || {
        let length = [0, 16, 24, 24, 28, 32, 32, 32][random.between(0, 7) as usize];
        let host = u128::from(random.between(0, 0xffff));
        ternary(32, 0x0a00_0000 | u128::from(random.between(0, 40)) << 16 | host, upper(32, length))
    };
    let (from, to) = (address(), address());
    let mut port = || {
        let end = |value| Value::new(16, value);
        let service = u128::from(random.between(0, 300));
        match random.between(0, 3) {
            0 => Match::Range(end(0), end(0xffff)),
            1 => Match::Range(end(1024), end(0xffff)),
            2 => Match::Range(end(service), end(service)),
            _ => Match::Range(end(service * 100), end(service * 100 + 99)),
        }
    };
    let (source, destination) = (port(), port());
    let protocol = [None, Some(6), Some(6), Some(17)][random.between(0, 3) as usize];
    let protocol = Match::Optional(protocol.map(|value| Value::new(8, value)));
    vec![from, to, source, destination, protocol]
}

/// The match fields of a request, without those that accept every value.
fn fields(matches: &[Match]) -> Vec<(u32, Match)> {
    let is_restrictive = |one: &Match| match one {
        Match::Ternary(_, mask) => mask.words.iter().any(|word| *word != 0),
        Match::Range(low, high) => {
            let all = Value::new(low.width, u128::MAX);
            low.words.iter().any(|word| *word != 0) || *high != all
        }
        Match::Optional(value) => value.is_some(),
        Match::Exact(_) | Match::Lpm(..) => true,
    };
    (1..).zip(matches.iter().cloned()).filter(|(_, one)| is_restrictive(one)).collect()
}

/// A value that satisfies a match.
fn value_in(random: &mut Random, one: &Match) -> Value {
    let noise = wide(random);
    let number = |value: &Value| {
        value.words.iter().rev().fold(0, |number, word| number << 64 | u128::from(*word))
    };
    let under =
        |value: &Value, mask: u128| Value::new(value.width, number(value) & mask | noise & !mask);
    match one {
        Match::Exact(value) | Match::Optional(Some(value)) => value.clone(),
        Match::Optional(None) => Value::new(8, noise),
        Match::Lpm(value, length) => under(value, upper(value.width, *length)),
        Match::Ternary(value, mask) => under(value, number(mask)),
        Match::Range(low, high) => {
            let (low, high, width) = (number(low), number(high), low.width);
            Value::new(width, low + noise % (high - low + 1))
        }
    }
}

/// A linear search over all entries in order.
struct Scan(Vec<ScanRow>);

struct ScanRow {
    id: u32,
    value: Box<[u64]>,
    mask: Box<[u64]>,
    /// Index of the word, low end and high end.
    ranges: Box<[(usize, u64, u64)]>,
}

impl Scan {
    fn new(entries: &[(Vec<Match>, u32)]) -> Self {
        let mut order: Vec<u32> = (0..entries.len() as u32).collect();
        order.sort_by_key(|id| {
            let (matches, priority) = &entries[*id as usize];
            let length = if let Match::Lpm(_, length) = matches[0] { length } else { 0 };
            std::cmp::Reverse(length.max(*priority))
        });
        Self(order.into_iter().map(|id| ScanRow::new(id, &entries[id as usize].0)).collect())
    }

    fn find(&self, key: &[u64]) -> Option<u32> {
        self.0.iter().find(|row| row.matches(key)).map(|row| row.id)
    }
}

impl ScanRow {
    fn new(id: u32, matches: &[Match]) -> Self {
        let (mut values, mut masks, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for one in matches {
            let (value, mask) = match one {
                Match::Exact(value) | Match::Optional(Some(value)) => {
                    (value.clone(), Value::new(value.width, u128::MAX))
                }
                Match::Optional(None) => (Value::new(8, 0), Value::new(8, 0)),
                Match::Lpm(value, length) => {
                    (value.clone(), Value::new(value.width, upper(value.width, *length)))
                }
                Match::Ternary(value, mask) => (value.clone(), mask.clone()),
                Match::Range(low, high) => {
                    ranges.push((values.len(), low.words[0], high.words[0]));
                    (Value::new(low.width, 0), Value::new(low.width, 0))
                }
            };
            values.extend(value.words);
            masks.extend(mask.words);
        }
        Self { id, value: values.into(), mask: masks.into(), ranges: ranges.into() }
    }

    fn matches(&self, key: &[u64]) -> bool {
        key.iter().zip(&self.value).zip(&self.mask).all(|((key, value), mask)| key & mask == *value)
            && self.ranges.iter().all(|(word, low, high)| (*low..=*high).contains(&key[*word]))
    }
}

/// Processor time of this thread in nanoseconds, or wall time if the system has no such clock.
fn core_time(start: Instant) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let core = text.and_then(|text| text.split(' ').next()?.parse().ok());
    core.unwrap_or(start.elapsed().as_nanos() as u64)
}

/// Processor time of `work` in nanoseconds.
fn processor_time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    let before = core_time(start);
    work();
    (core_time(start) - before) as f64
}

/// Wall time of `work` in nanoseconds. Control-plane requests are too short for the processor time,
/// which the system measures in ticks.
fn wall_time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Nanoseconds per lookup of `keys`, measured for 50 ms.
fn per_lookup(keys: &[Vec<u64>], find: impl Fn(&[u64]) -> Option<u32>) -> f64 {
    let mut lookups = 0;
    let total = processor_time(|| {
        let start = Instant::now();
        while lookups == 0 || start.elapsed() < Duration::from_millis(50) {
            for key in keys {
                black_box(find(black_box(key)));
            }
            lookups += keys.len();
        }
    });
    total / lookups as f64
}

fn measure(name: &str, table: u32, size: usize, make: MakeEntry, switch: &mut Switch) {
    let mut random = Random::new(size as u64);
    let program = switch.program().clone();
    let table_id = program.tables[table as usize].identity.id;
    let action = program.tables[table as usize].actions[0].action;
    let action_id = program.actions[action as usize].identity.id;
    let by_priority =
        !matches!(program.tables[table as usize].keys[0].kind, MatchKind::Exact | MatchKind::Lpm);
    let mut entries: Vec<(Vec<Match>, u32)> = (0..size)
        .map(|_| {
            let priority = if by_priority { random.between(1, 1 << 20) as u32 } else { 0 };
            (make(&mut random), priority)
        })
        .collect();
    let insert = wall_time(|| {
        entries.retain(|(matches, priority)| {
            let entry = TableEntry {
                table_id,
                matches: fields(matches),
                action: EntryAction::Direct { action_id, params: vec![Value::new(9, 1)] },
                priority: *priority,
                metadata: Vec::new(),
                controller_metadata: 0,
                idle_timeout_ns: 0,
            };
            // An existing prefix is rejected.
            switch.insert_entry(entry).is_ok()
        });
    });
    assert!(entries.len() > size / 2, "{name}: most entries are new");

    let keys: Vec<Vec<u64>> = (0..KEYS)
        .map(|i| {
            let at = random.between(0, entries.len() as u64 - 1) as usize;
            let fields =
                entries[at].0.iter().map(|one| match (i % 4, value_in(&mut random, one)) {
                    (0, value) => Value::new(value.width, wide(&mut random)),
                    (_, value) => value,
                });
            fields.flat_map(|value| value.words).collect()
        })
        .collect();
    let scan = Scan::new(&entries);
    let scanned = &keys[..(20_000_000 / size).clamp(64, KEYS)];
    for key in scanned {
        assert_eq!(switch.find_entry(table, key), scan.find(key), "{name} {key:?}");
    }
    let lookup = per_lookup(&keys, |key| switch.find_entry(table, key));
    let linear = per_lookup(scanned, |key| scan.find(key));

    let delete = wall_time(|| {
        for (matches, priority) in &entries {
            let deleted = switch.delete_entry(table_id, &fields(matches), *priority);
            deleted.expect("the entry is there");
        }
    });
    let each = |total: f64| total / entries.len() as f64 / 1e3;
    println!(
        "{name:20} {size:8} {lookup:10.1} {linear:10.1} {:8.1} {:10.2} {:10.2}",
        linear / lookup,
        each(insert),
        each(delete)
    );
}

fn main() {
    let largest = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let compiled = compile_source("tables.p4", SOURCE, &Options::default());
    let program = Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors}")).program);
    println!(
        "{:20} {:>8} {:>10} {:>10} {:>8} {:>10} {:>10}",
        "table", "entries", "ns/lookup", "ns/scan", "ratio", "us/insert", "us/delete"
    );
    for (name, table, make) in CASES {
        let index = program.tables.iter().position(|t| t.identity.name == table).expect("a table");
        let sizes = std::iter::successors(Some(100), |size| Some(10 * size));
        for size in sizes.take_while(|size| *size <= largest) {
            let options = SwitchOptions { seed: 1, ..SwitchOptions::default() };
            let mut switch = Switch::new(program.clone(), options).expect("the program runs");
            measure(name, index as u32, size, make, &mut switch);
        }
    }
}
