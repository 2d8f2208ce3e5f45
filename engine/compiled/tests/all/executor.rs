//! The compiled executor with a switch: tables that change and move, and packets in batches.

use std::path::Path;
use std::sync::Arc;

use netkv_compiled::{ExecutorKind, switch};
use netkv_dataplane::{EntryAction, Frame, Output, Random, Switch, SwitchOptions, TableEntry};
use netkv_ir::{Match, Program, Value};
use netkv_p4::{Options, compile_file};

use crate::both::{BOTH, assert_same_registers, id, send, switch_with};

/// The reference program of the benchmark.
fn program() -> Arc<Program> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/cache_read.p4");
    let compiled = compile_file(&source, &Options::default());
    Arc::new(compiled.unwrap_or_else(|error| panic!("{error}")).program)
}

/// Two switches with the same program and entries.
struct Pair {
    compiled: Switch,
    interpreter: Switch,
}

impl Pair {
    fn new() -> Self {
        let options = SwitchOptions { seed: 1, ..SwitchOptions::default() };
        let make = |kind| switch(program(), options, kind).unwrap();
        let mut pair = Self {
            compiled: make(ExecutorKind::Compiled),
            interpreter: make(ExecutorKind::Interpreter),
        };
        pair.both(|switch| {
            let entry = entry(switch, "I.route", Value::new(32, 0x0a00_0001), "I.fwd", &[(9, 1)]);
            switch.insert_entry(entry).unwrap();
        });
        pair
    }

    fn both(&mut self, change: impl Fn(&mut Switch)) {
        change(&mut self.compiled);
        change(&mut self.interpreter);
    }

    /// Sends frames through both and asserts that the results are equal. Returns their number.
    fn send(&mut self, frames: &[Vec<u8>]) -> usize {
        let (mut ours, mut reference) = (Output::new(), Output::new());
        let frames = || frames.iter().map(Vec::as_slice);
        self.compiled.process_batch(0, 0, frames(), &mut ours);
        self.interpreter.process_batch(0, 0, frames(), &mut reference);
        assert!(ours.frames().eq(reference.frames()));
        assert_eq!(self.compiled.statistics(), self.interpreter.statistics());
        // An announcement changes nothing, even if the frames never arrive and tables move next.
        let announced: Vec<_> = frames().map(|bytes| Frame { bytes, port: 0, now_ns: 0 }).collect();
        self.compiled.prefetch(&announced);
        ours.len()
    }
}

fn entry(
    switch: &Switch,
    table: &str,
    key: Value,
    action: &str,
    data: &[(u32, u64)],
) -> TableEntry {
    let params = data.iter().map(|(width, value)| Value::new(*width, u128::from(*value))).collect();
    TableEntry {
        table_id: id(switch, table),
        matches: vec![(1, Match::Exact(key))],
        action: EntryAction::Direct { action_id: id(switch, action), params },
        priority: 0,
        metadata: Vec::new(),
        controller_metadata: 0,
        idle_timeout_ns: 0,
    }
}

fn cached(switch: &Switch, key: u64) -> TableEntry {
    let (index, key) = (key % 65_536, Value::new(128, u128::from(key)));
    entry(switch, "I.lookup", key, "I.hit", &[(16, index), (8, 255)])
}

/// A read of `key` from 10.0.0.1.
fn read(key: u64) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 49, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x30, 0x39, 0x13, 0x88, 0, 29, 0, 0]);
    frame.extend([0, 0, 0, 0, 1]);
    frame.extend(u128::from(key).to_be_bytes());
    frame
}

#[test]
fn lookups_follow_tables_that_grow_shrink_and_move() {
    let mut pair = Pair::new();
    let mut random = Random::new(3);
    // The table exceeds the size at which the executor prefetches, and doubles several times.
    for round in 0..60u64 {
        pair.both(|switch| {
            for key in round * 100..(round + 1) * 100 {
                switch.insert_entry(cached(switch, key)).unwrap();
                let valid = id(switch, "I.valid");
                let bit = Value::new(1, u128::from(key % 3 != 0));
                switch.write_register(valid, Some(key as u32), &bit).unwrap();
            }
        });
        if round % 3 == 2 {
            let table = id(&pair.compiled, "I.lookup");
            pair.both(|switch| {
                for key in (round - 2) * 100..(round - 1) * 100 {
                    let matches = [(1, Match::Exact(Value::new(128, u128::from(key))))];
                    switch.delete_entry(table, &matches, 0).unwrap();
                }
            });
        }
        let max_key = (round + 2) * 100;
        let frames: Vec<_> = (0..150).map(|_| read(random.between(0, max_key))).collect();
        pair.send(&frames);
    }
    let hits = id(&pair.compiled, "I.hits");
    let all = |switch: &Switch| switch.read_register(hits, None).unwrap();
    assert!(all(&pair.compiled) == all(&pair.interpreter), "hit counters differ");
}

#[test]
fn batches_of_any_length_are_sent_completely_and_in_order() {
    let mut pair = Pair::new();
    pair.both(|switch| {
        for key in 0..3_000 {
            switch.insert_entry(cached(switch, key)).unwrap();
        }
    });
    for length in [0usize, 1, 2, 9, 10, 11, 63, 64, 65, 200] {
        let frames: Vec<_> = (0..length as u64).map(|key| read(key * 7)).collect();
        // Reads of invalid entries are forwarded by their address, to port 0.
        assert_eq!(pair.send(&frames), length);
    }
}

/// A header with a varbit before the key of a large table, as that of IPv4 with options.
const OPTIONS: &str = "
#include <core.p4>
#include <v1model.p4>
header options_t { bit<8> bytes; varbit<64> options; }
header key_t { bit<32> key; }
struct headers_t { options_t options; key_t key; }
struct meta_t { }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.options, (bit<32>)p.lookahead<bit<8>>() << 3);
        p.extract(h.key);
        transition accept;
    }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<32>>(4096) hits;
    action hit(bit<32> at) { hits.write(at, h.key.key); s.egress_spec = 2; }
    table lookup { key = { h.key.key: exact; } actions = { hit; NoAction; } size = 4096; }
    apply { s.egress_spec = 1; lookup.apply(); }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.options); p.emit(h.key); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// The frames of which the keys are looked up ahead are not the one that is processed.
#[test]
fn a_varbit_before_the_key_is_that_of_the_frame_ahead() {
    let mut switches = BOTH.map(|kind| switch_with(OPTIONS, 1, kind));
    for switch in &mut switches {
        for key in 0..3_000 {
            let at = entry(switch, "I.lookup", Value::new(32, key.into()), "I.hit", &[(32, key)]);
            switch.insert_entry(at).unwrap();
        }
    }
    let frames: Vec<Vec<u8>> = (0..200u32)
        .map(|number| {
            let mut frame = vec![(number % 9) as u8];
            frame.resize(1 + number as usize % 9, 0xee);
            frame.extend((17 * number).to_be_bytes());
            frame.truncate(if number % 13 == 0 { 3 } else { 100 });
            frame
        })
        .collect();
    send(&mut switches, 0, &frames);
    assert_same_registers(&mut switches, &["I.hits"]);
}

#[test]
fn the_next_packet_runs_the_new_action_of_a_changed_entry() {
    let mut pair = Pair::new();
    pair.both(|switch| {
        switch.insert_entry(cached(switch, 5)).unwrap();
        let valid = id(switch, "I.valid");
        switch.write_register(valid, Some(5), &Value::new(1, 1)).unwrap();
    });
    pair.send(&[read(5)]);
    pair.both(|switch| {
        let key = Value::new(128, 5);
        let changed = entry(switch, "I.lookup", key, "I.hit", &[(16, 6), (8, 1)]);
        switch.modify_entry(changed).unwrap();
    });
    pair.send(&[read(5)]);
    let hits = id(&pair.compiled, "I.hits");
    let count = |index| pair.compiled.read_register(hits, Some(index)).unwrap()[0].1.words[0];
    assert_eq!((count(5), count(6)), (1, 1));
}

#[test]
fn an_unknown_executor_is_refused_with_the_known_names() {
    assert_eq!("compiled".parse(), Ok(ExecutorKind::Compiled));
    let error = "jit".parse::<ExecutorKind>().unwrap_err();
    assert_eq!(error, "There is no executor 'jit'; there are compiled and interpreter.");
}
