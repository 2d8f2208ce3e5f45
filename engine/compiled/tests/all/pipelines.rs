//! Switches with several pipelines, on both executors. Each frame records the pipelines that it
//! passed, and both executors must give the same result.

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{CloneSession, EntryAction, Output, Random, Switch, TableEntry};
use netkv_ir::{Match, Value};

use crate::both::{BOTH, id, switch_with};

/// Register `here` has the number of the pipeline. Ingress and egress append a hexadecimal digit to
/// the trail of a frame: 1 to 4 for ingress of pipelines 0 to 3, 9 to c for egress.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t { bit<8> op; bit<8> to; bit<8> seen_port; bit<32> trail; bit<16> counted; }
struct headers_t { q_t q; }
struct meta_t { @field_list(1) bit<8> kept; }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    value_set<bit<8>>(4) blind;
    state start { transition select(p.lookahead<bit<8>>()) { blind: accept; default: more; } }
    state more { p.extract(h.q); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<32>>(1) here;
    register<bit<16>>(64) counts;
    bit<32> number;
    bit<16> count;
    action drop() { mark_to_drop(s); }
    action turn(bit<9> port) { s.egress_spec = port; }
    table t { key = { h.q.to: exact; } actions = { drop; turn; NoAction; } }
    apply {
        here.read(number, 0);
        h.q.trail = (h.q.trail << 4) | (number + 1);
        h.q.seen_port = (bit<8>)s.ingress_port;
        counts.read(count, (bit<32>)(h.q.op & 63));
        count = count + 1;
        counts.write((bit<32>)(h.q.op & 63), count);
        h.q.counted = count;
        s.egress_spec = (bit<9>)h.q.to;
        t.apply();
        if (h.q.op == 2 && s.instance_type == 0) {
            m.kept = 1;
            resubmit_preserving_field_list(1);
        } else if (h.q.op == 3) {
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        } else if (h.q.op == 4) {
            s.mcast_grp = 7;
        } else if (h.q.op == 6) {
            digest<bit<32>>(1, h.q.trail);
        }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<32>>(1) here;
    bit<32> number;
    apply {
        here.read(number, 0);
        h.q.trail = (h.q.trail << 4) | (number + 9);
        if (h.q.op == 1) {
            h.q.op = 0;
            h.q.to = h.q.to ^ 1;
            recirculate_preserving_field_list(1);
        } else if (h.q.op == 5 && s.instance_type == 0) {
            clone(CloneType.E2E, 5);
        } else if (h.q.op == 7) {
            mark_to_drop(s);
        }
    }
}
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// A switch with the numbers of its pipelines in `here`, and with copies to ports 3 and 6.
fn numbered(pipelines: usize, kind: ExecutorKind) -> Switch {
    let mut switch = switch_with(SOURCE, pipelines, kind);
    let replicas = vec![(3, 0), (6, 1)];
    let session = CloneSession { replicas: replicas.clone(), ..CloneSession::default() };
    switch.insert_clone_session(5, session).unwrap();
    switch.insert_multicast_group(7, replicas).unwrap();
    for register in ["I.here", "E.here"] {
        let here = id(&switch, register);
        for pipeline in 0..pipelines {
            let number = Value::new(32, pipeline as u128);
            switch
                .in_pipeline(pipeline, |switch| switch.write_register(here, Some(0), &number))
                .unwrap();
        }
    }
    switch
}

fn frame(op: u8, to: u8) -> Vec<u8> {
    vec![op, to, 0, 0, 0, 0, 0, 0, 0, 0xee]
}

/// Ports and trails of the sent frames.
fn trails(switch: &mut Switch, port: u16, frame: &[u8]) -> Vec<(u16, String)> {
    let mut output = Output::new();
    switch.process(0, port, frame, &mut output);
    let trail = |frame: &[u8]| u32::from_be_bytes(frame[3..7].try_into().unwrap());
    output.frames().map(|(port, frame)| (port, format!("{:x}", trail(frame)))).collect()
}

#[track_caller]
fn assert_trails(pipelines: usize, port: u16, frame: &[u8], expected: &[(u16, &str)]) {
    for kind in BOTH {
        let found = trails(&mut numbered(pipelines, kind), port, frame);
        let found: Vec<(u16, &str)> = found.iter().map(|(port, trail)| (*port, &**trail)).collect();
        assert_eq!(found, expected, "{kind:?}");
    }
}

#[test]
fn ports_determine_the_pipelines_of_ingress_and_egress() {
    assert_trails(1, 3, &frame(0, 2), &[(2, "19")]);
    assert_trails(2, 3, &frame(0, 2), &[(2, "29")]);
    assert_trails(2, 3, &frame(0, 5), &[(5, "2a")]);
    assert_trails(4, 3, &frame(0, 2), &[(2, "4b")]);
    assert_trails(4, 510, &frame(0, 0), &[(0, "39")]);
}

#[test]
fn a_recirculated_frame_enters_the_pipeline_of_its_egress() {
    assert_trails(4, 1, &frame(1, 2), &[(3, "2b3c")]);
    assert_trails(4, 1, &frame(2, 2), &[(2, "2b")]);
    assert_trails(4, 3, &frame(2, 2), &[(2, "4b")]);
    // As with one pipeline, the original ingress port is not available.
    for (kind, pipelines) in [(0, 1), (0, 4), (1, 1), (1, 4)].map(|(k, p)| (BOTH[k], p)) {
        let mut output = Output::new();
        numbered(pipelines, kind).process(0, 1, &frame(1, 2), &mut output);
        assert_eq!(output.frames().next().unwrap().1[2], 0, "seen_port of the second pass");
    }
}

#[test]
fn clones_and_copies_pass_the_egress_of_their_own_ports() {
    // An ingress clone has the received bytes.
    assert_trails(4, 0, &frame(3, 1), &[(3, "c"), (6, "b"), (1, "1a")]);
    assert_trails(4, 0, &frame(4, 1), &[(3, "1c"), (6, "1b")]);
    assert_trails(4, 0, &frame(5, 1), &[(1, "1a"), (3, "1ac"), (6, "1ab")]);
    assert_trails(2, 1, &frame(5, 1), &[(1, "2a"), (3, "2aa"), (6, "2a9")]);
}

#[test]
fn an_ingress_clone_is_parsed_in_the_pipeline_that_made_it() {
    for kind in BOTH {
        let mut switch = numbered(2, kind);
        let blind = id(&switch, "P.blind");
        let member = vec![(1, Match::Exact(Value::new(8, 3)))];
        let set = |switch: &mut Switch| switch.set_value_set(blind, std::slice::from_ref(&member));
        switch.in_pipeline(1, set).unwrap();
        let mut output = Output::new();
        switch.process(0, 0, &frame(3, 0), &mut output);
        assert_eq!(output.frames().next().unwrap().1[3..7], [0, 0, 0, 0xa], "parsed: {kind:?}");
        output.clear();
        switch.process(0, 1, &frame(3, 0), &mut output);
        // Nothing is parsed, so op is 0, no clone is made, and the bytes are sent unchanged.
        let left: Vec<_> = output.frames().map(|(_, frame)| frame.to_vec()).collect();
        assert_eq!(left, [frame(3, 0)], "{kind:?}");
    }
}

#[test]
fn each_pipeline_has_its_own_counters_and_tables() {
    for kind in BOTH {
        let mut switch = numbered(4, kind);
        let (t, turn) = (id(&switch, "I.t"), id(&switch, "I.turn"));
        let entry = |port: u128| TableEntry {
            table_id: t,
            matches: vec![(1, Match::Exact(Value::new(8, 9)))],
            action: EntryAction::Direct { action_id: turn, params: vec![Value::new(9, port)] },
            priority: 0,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        };
        for pipeline in 0..3 {
            switch.in_pipeline(pipeline, |s| s.insert_entry(entry(4 + pipeline as u128))).unwrap();
        }
        let mut output = Output::new();
        let counted: Vec<(u16, u8)> = [0, 1, 2, 3, 3, 7, 4]
            .map(|port| {
                output.clear();
                switch.process(0, port, &frame(0, 9), &mut output);
                let (port, frame) = output.frames().next().unwrap();
                (port, frame[8])
            })
            .to_vec();
        // The write has not reached pipeline 3 yet.
        assert_eq!(counted, [(4, 1), (5, 1), (6, 1), (9, 1), (9, 2), (9, 3), (4, 2)], "{kind:?}");
        let missing = switch.in_pipeline(3, |s| s.insert_entry(entry(7)));
        missing.unwrap();
        assert_eq!(trails(&mut switch, 3, &frame(0, 9)), [(7, "4c".to_owned())], "{kind:?}");
    }
}

/// Entries, registers and value sets of one or all pipelines change between batches. The frames are
/// cloned, multicast, recirculated, resubmitted, dropped and reported.
#[test]
fn executors_agree_with_2_and_4_pipelines() {
    for pipelines in [2, 4] {
        let [mut left, mut right] = BOTH.map(|kind| numbered(pipelines, kind));
        let mut random = Random::new(pipelines as u64);
        let (mut a, mut b) = (Output::new(), Output::new());
        let (t, turn) = (id(&left, "I.t"), id(&left, "I.turn"));
        let counts = id(&left, "I.counts");
        let mut sent = 0;
        for round in 0..3_000u64 {
            let (to, port) = (random.between(0, 15), random.between(0, 8));
            let pipeline = random.between(0, pipelines as u64) as usize;
            let insert = random.between(0, 1) == 1;
            let change = |switch: &mut Switch| {
                let matches = vec![(1, Match::Exact(Value::new(8, u128::from(to))))];
                if !insert {
                    return switch.delete_entry(t, &matches, 0);
                }
                let params = vec![Value::new(9, u128::from(port))];
                switch.insert_entry(TableEntry {
                    table_id: t,
                    matches,
                    action: EntryAction::Direct { action_id: turn, params },
                    priority: 0,
                    metadata: Vec::new(),
                    controller_metadata: 0,
                    idle_timeout_ns: 0,
                })
            };
            // A number beyond the last pipeline stands for all pipelines.
            let answers = [&mut left, &mut right].map(|switch| match pipeline {
                all if all == pipelines => change(switch),
                one => switch.in_pipeline(one, change),
            });
            assert_eq!(answers[0], answers[1]);
            let count = random.between(1, 70);
            let frames: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let mut frame = frame(random.between(0, 8) as u8, random.between(0, 17) as u8);
                    frame.truncate(random.between(6, 30) as usize);
                    frame
                })
                .collect();
            let port = random.between(0, 7) as u16;
            a.clear();
            b.clear();
            let of = || frames.iter().map(Vec::as_slice);
            left.process_batch(round, port, of(), &mut a);
            right.process_batch(round, port, of(), &mut b);
            assert!(a.frames().eq(b.frames()), "round {round}, port {port}: {frames:02x?}");
            assert_eq!(a.again(), b.again());
            assert_eq!(left.take_digests(), right.take_digests());
            assert_eq!(left.statistics(), right.statistics());
            sent += a.len();
        }
        for pipeline in 0..pipelines {
            let [left, right] = [&mut left, &mut right]
                .map(|switch| switch.in_pipeline(pipeline, |s| s.read_register(counts, None)));
            assert!(left == right && left.is_ok(), "counts of pipeline {pipeline} differ");
        }
        let statistics = left.statistics();
        let rare = [
            statistics.recirculated,
            statistics.resubmitted,
            statistics.cloned,
            statistics.replicated,
            statistics.digests,
            statistics.dropped_egress,
        ];
        assert!(sent > 50_000 && rare.iter().all(|count| *count > 1_000), "{statistics:?}");
    }
}
