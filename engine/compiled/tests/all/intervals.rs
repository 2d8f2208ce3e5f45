//! Tables with one range or lpm key, which compiled code searches as intervals. Random entries
//! come, change and go between batches; the table also exceeds the size up to which there are
//! intervals. Both executors must give the same frames.

use std::collections::BTreeMap;
use std::sync::Arc;

use netkv_compiled::{ExecutorKind, switch};
use netkv_dataplane::{EntryAction, Output, Random, Switch, SwitchOptions, TableEntry};
use netkv_ir::{Identity, Match, Value};
use netkv_p4::{Options, compile_source};

/// Each table writes what it found into the frame.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t {
    bit<64> whole; bit<32> half; bit<12> odd; bit<4> rest;
    bit<72> of_whole; bit<24> of_half; bit<24> of_odd;
}
struct headers_t { q_t q; }
struct meta_t { }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.q); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action whole(bit<72> found) { h.q.of_whole = found; }
    action half(bit<16> found) { h.q.of_half = 0x010000 + (bit<24>)found; }
    action half_none(bit<8> found) { h.q.of_half = (bit<24>)found; }
    action odd(bit<16> found) { h.q.of_odd = 0x010000 + (bit<24>)found; }
    table wholes {
        key = { h.q.whole: range; }
        actions = { whole; NoAction; }
        default_action = NoAction;
        size = 4096;
    }
    table halves {
        key = { h.q.half: lpm; }
        actions = { half; half_none; }
        default_action = half_none(7);
        size = 4096;
    }
    table odds {
        key = { h.q.odd: range; }
        actions = { odd; NoAction; }
        const default_action = NoAction;
        size = 4096;
    }
    apply {
        wholes.apply();
        if (halves.apply().hit) { s.egress_spec = 2; } else { s.egress_spec = 3; }
        odds.apply();
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// A table of the program: its name, the width of its key, its action, and the width of the
/// action's parameter.
#[derive(Debug, Clone, Copy)]
struct Shape {
    table: &'static str,
    width: u32,
    action: &'static str,
    data: u32,
}

const SHAPES: [Shape; 3] = [
    Shape { table: "I.wholes", width: 64, action: "I.whole", data: 72 },
    Shape { table: "I.halves", width: 32, action: "I.half", data: 16 },
    Shape { table: "I.odds", width: 12, action: "I.odd", data: 16 },
];

struct Pair {
    switches: [Switch; 2],
    /// Matches and priority of the installed entries of each table, by an order of insertion.
    installed: [BTreeMap<u64, (Match, u32)>; 3],
    random: Random,
    inserted: u64,
}

fn id(switch: &Switch, name: &str) -> u32 {
    let program = switch.program();
    let tables = program.tables.iter().map(|table| &table.identity);
    let actions = program.actions.iter().map(|action| &action.identity);
    let found: Option<&Identity> = tables.chain(actions).find(|identity| identity.name == name);
    found.unwrap_or_else(|| panic!("the program has no {name}")).id
}

impl Pair {
    fn new(seed: u64) -> Self {
        let compiled = compile_source("intervals.p4", SOURCE, &Options::default());
        let program = Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors}")).program);
        let switches = [ExecutorKind::Compiled, ExecutorKind::Interpreter]
            .map(|kind| switch(Arc::clone(&program), SwitchOptions::default(), kind).unwrap());
        Self { switches, installed: Default::default(), random: Random::new(seed), inserted: 0 }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.between(0, limit - 1)
    }

    fn key(&mut self, width: u32) -> u64 {
        let largest = u64::MAX >> (64 - width);
        match self.below(4) {
            0 => [0, 1, largest, largest - 1][self.below(4) as usize],
            // Few values, so that intervals overlap and touch.
            1 => self.below(64),
            _ => self.random.next() & largest,
        }
    }

    fn entry(&mut self, shape: Shape, matches: Match, priority: u32) -> TableEntry {
        let value = u128::from(self.random.next()) & ((1 << shape.data.min(64)) - 1);
        let action = EntryAction::Direct {
            action_id: id(&self.switches[0], shape.action),
            params: vec![Value::new(shape.data, value)],
        };
        TableEntry {
            table_id: id(&self.switches[0], shape.table),
            matches: vec![(1, matches)],
            action,
            priority,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        }
    }

    fn insert(&mut self, at: usize) {
        let shape = SHAPES[at];
        let number = |value| Value::new(shape.width, u128::from(value));
        let (matches, priority) = if shape.table == "I.halves" {
            let length = self.below(32) as u32 + 1;
            let prefix = self.key(32) & (u64::from(u32::MAX) << (32 - length) & 0xffff_ffff);
            (Match::Lpm(number(prefix), length), 0)
        } else {
            let (one, other) = (self.key(shape.width), self.key(shape.width));
            // Equal priorities are frequent.
            let priority = self.below(5) as u32 + 1;
            (Match::Range(number(one.min(other)), number(one.max(other))), priority)
        };
        let entry = self.entry(shape, matches.clone(), priority);
        let results = self.switches.each_mut().map(|switch| switch.insert_entry(entry.clone()));
        assert_eq!(results[0].is_ok(), results[1].is_ok());
        if results[0].is_ok() {
            self.inserted += 1;
            self.installed[at].insert(self.inserted, (matches, priority));
        }
    }

    /// The number of an installed entry.
    fn some(&mut self, at: usize) -> Option<u64> {
        let newest = self.inserted;
        let from = self.below(newest + 1);
        self.installed[at].range(from..).next().map(|(number, _)| *number)
    }

    fn delete(&mut self, at: usize) {
        let Some(number) = self.some(at) else { return };
        let (matches, priority) = self.installed[at].remove(&number).unwrap();
        let table = id(&self.switches[0], SHAPES[at].table);
        for switch in &mut self.switches {
            switch.delete_entry(table, &[(1, matches.clone())], priority).unwrap();
        }
    }

    fn modify(&mut self, at: usize) {
        let Some(number) = self.some(at) else { return };
        let (matches, priority) = self.installed[at][&number].clone();
        let entry = self.entry(SHAPES[at], matches, priority);
        for switch in &mut self.switches {
            switch.modify_entry(entry.clone()).unwrap();
        }
    }

    /// Sends a batch through both. Returns the number of frames with a hit in the table of 32 bits.
    fn send(&mut self) -> usize {
        let frames: Vec<Vec<u8>> = (0..40)
            .map(|_| {
                let [whole, half, odd] = SHAPES.map(|shape| self.key(shape.width));
                let mut frame = whole.to_be_bytes().to_vec();
                frame.extend((half as u32).to_be_bytes());
                frame.extend((odd as u16).rotate_left(4).to_be_bytes());
                frame.extend([0xaa; 9 + 3 + 3]);
                frame
            })
            .collect();
        let outputs = self.switches.each_mut().map(|switch| {
            let mut output = Output::new();
            switch.process_batch(0, 0, frames.iter().map(Vec::as_slice), &mut output);
            output
        });
        assert!(outputs[0].frames().eq(outputs[1].frames()));
        outputs[0].frames().filter(|(port, _)| *port == 2).count()
    }
}

#[test]
fn intervals_follow_the_entries() {
    let mut hits = 0;
    for seed in 0..8 {
        let mut pair = Pair::new(seed);
        for _ in 0..150 {
            let at = pair.below(3) as usize;
            match pair.below(6) {
                0 => pair.delete(at),
                1 => pair.modify(at),
                _ => pair.insert(at),
            }
            hits += pair.send();
        }
    }
    assert!((5_000..47_000).contains(&hits), "{hits} of 48000 frames hit");
}

#[test]
fn a_table_may_grow_beyond_the_intervals_and_shrink_again() {
    let mut pair = Pair::new(9);
    for at in [0, 1, 2] {
        while pair.installed[at].len() < 1_100 {
            for _ in 0..100 {
                pair.insert(at);
            }
            pair.send();
        }
        while pair.installed[at].len() > 900 {
            for _ in 0..50 {
                pair.delete(at);
            }
            pair.send();
        }
    }
}

#[test]
fn the_default_action_may_change() {
    let mut pair = Pair::new(1);
    for _ in 0..20 {
        pair.insert(1);
        pair.send();
        let value = pair.below(256);
        let table = id(&pair.switches[0], "I.halves");
        let action = id(&pair.switches[0], "I.half_none");
        for switch in &mut pair.switches {
            switch.set_default(table, action, &[Value::new(8, u128::from(value))]).unwrap();
        }
        pair.send();
    }
}
