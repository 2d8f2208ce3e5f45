//! Egress clones on both executors. Compiled code processes some of them itself (the only clone of
//! a packet that is dropped, without a field list), and the switch the others. Both executors must
//! give the same frames in the same order, and the same statistics.

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{CloneSession, MAX_PASSES, Random, Switch};

use crate::both::{BOTH, assert_same_registers, send, switch_with};

/// Where frames arrive.
const PORT: u16 = 1;

/// Every pass through egress takes the next number of `turns`, so frames show the order of passes.
/// A clone writes what it knows of its metadata into the frame. `left` is the number of clones of
/// clones that follow, 255 for endless ones.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t {
    bit<8> op; bit<16> session; bit<8> left; bit<16> turn;
    bit<8> kept; bit<8> lost; bit<8> rid; bit<8> port; bit<8> type; bit<8> length;
}
header extra_t { bit<24> data; }
struct headers_t { q_t q; extra_t extra; }
struct meta_t { @field_list(1) bit<8> kept; bit<8> lost; bit<1> decided; }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.q); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        m.kept = h.q.op + 1;
        m.lost = h.q.op + 2;
        m.decided = 1;
        if (h.q.op == 6) { s.mcast_grp = 7; } else { s.egress_spec = 4; }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<16>>(1) turns;
    register<bit<16>>(1) clones;
    bit<16> turn;
    bit<16> clone_number;
    apply {
        turns.read(turn, 0);
        turn = turn + 1;
        turns.write(0, turn);
        if (s.instance_type == 2) {
            clones.read(clone_number, 0);
            clones.write(0, clone_number + 1);
            h.q.kept = m.kept;
            h.q.lost = m.lost;
            h.q.rid = (bit<8>)s.egress_rid;
            h.q.port = (bit<8>)s.egress_port;
            h.q.type = (bit<8>)s.instance_type;
            h.q.length = (bit<8>)s.packet_length;
        }
        if (m.decided == 1 && h.q.op != 0) {
            h.extra.setValid();
            h.extra.data = 0xabcdef;
        }
        if (m.lost != 0 || h.q.left != 0) {
            if (m.lost == 0 && h.q.left != 255) {
                h.q.left = h.q.left - 1;
            }
            if (h.q.op == 3) {
                clone_preserving_field_list(CloneType.E2E, (bit<32>)h.q.session, 1);
                mark_to_drop(s);
            } else if (h.q.op == 4) {
                clone(CloneType.E2E, (bit<32>)h.q.session);
            } else if (h.q.op == 5) {
                clone(CloneType.E2E, (bit<32>)h.q.session);
                recirculate_preserving_field_list(1);
                h.q.op = 0;
            } else if (h.q.op != 0) {
                clone(CloneType.E2E, (bit<32>)h.q.session);
                mark_to_drop(s);
            }
        }
        h.q.turn = turn;
    }
}
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); p.emit(h.extra); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

const SESSIONS: [u16; 8] = [1, 2, 3, 4, 5, 6, 4_095, 4_096];

fn session(replicas: &[(u16, u16)], packet_length_bytes: u32) -> CloneSession {
    CloneSession { replicas: replicas.to_vec(), class_of_service: 0, packet_length_bytes }
}

/// Sessions with one clone (1, 2 and those with high numbers), two, none, and a limited length.
/// There is no session 6.
fn with_sessions(pipelines: usize, kind: ExecutorKind) -> Switch {
    let mut switch = switch_with(SOURCE, pipelines, kind);
    let all = [
        (1, session(&[(8, 3)], 0)),
        (2, session(&[(5, 0)], 0)),
        (3, session(&[(2, 1), (3, 2)], 0)),
        (4, session(&[], 0)),
        (5, session(&[(6, 0)], 7)),
        (4_095, session(&[(12, 0)], 0)),
        (4_096, session(&[(12, 0)], 0)),
    ];
    for (id, session) in all {
        switch.insert_clone_session(id, session).unwrap();
    }
    switch.insert_multicast_group(7, vec![(4, 0), (5, 1), (6, 0)]).unwrap();
    switch
}

fn both(pipelines: usize) -> [Switch; 2] {
    BOTH.map(|kind| with_sessions(pipelines, kind))
}

fn frame(op: u8, session: u16, left: u8) -> Vec<u8> {
    let [high, low] = session.to_be_bytes();
    vec![op, high, low, left, 0, 0, 0, 0, 0, 0, 0, 0, 0xee, 0xff]
}

#[test]
fn a_clone_has_the_headers_and_no_metadata() {
    let mut switches = both(1);
    let sent = send(&mut switches, PORT, &[frame(1, 1, 0)]);
    // Egress added three bytes to the original.
    let expected = [1, 0, 1, 0, 0, 2, 0, 0, 3, 8, 2, 17, 0xab, 0xcd, 0xef, 0xee, 0xff];
    assert_eq!(sent, [(8, expected.to_vec())]);
    let statistics = switches[1].statistics();
    assert_eq!((statistics.cloned, statistics.dropped_egress), (1, 1));
}

#[test]
fn changed_sessions_apply_to_the_next_frame() {
    let mut switches = both(1);
    let ports = |switches: &mut [Switch; 2]| -> Vec<u16> {
        send(switches, PORT, &[frame(1, 1, 0)]).into_iter().map(|(port, _)| port).collect()
    };
    assert_eq!(ports(&mut switches), [8]);
    let change = |switches: &mut [Switch; 2], replicas: &[(u16, u16)], limit| {
        for switch in switches {
            switch.modify_clone_session(1, session(replicas, limit)).unwrap();
        }
    };
    change(&mut switches, &[(9, 0)], 0);
    assert_eq!(ports(&mut switches), [9]);
    change(&mut switches, &[(9, 0), (10, 0)], 0);
    assert_eq!(ports(&mut switches), [9, 10]);
    change(&mut switches, &[(11, 0)], 6);
    assert_eq!(send(&mut switches, PORT, &[frame(1, 1, 0)])[0].1.len(), 6);
    change(&mut switches, &[(11, 0)], 0);
    assert_eq!(ports(&mut switches), [11]);
    for switch in &mut switches {
        switch.delete_clone_session(1).unwrap();
    }
    assert!(ports(&mut switches).is_empty());
    assert_eq!(switches[1].statistics().unknown_clone_sessions, 1);
    for switch in &mut switches {
        switch.insert_clone_session(1, session(&[(8, 0)], 0)).unwrap();
    }
    assert_eq!(ports(&mut switches), [8]);
}

#[test]
fn clones_of_clones_count_their_passes() {
    let mut switches = both(1);
    for left in 0..5 {
        let before = switches[1].statistics().cloned;
        let sent = send(&mut switches, PORT, &[frame(1, 1, left)]);
        assert_eq!(sent.len(), 1);
        assert_eq!(switches[1].statistics().cloned - before, u64::from(left) + 1);
    }
    // An endless chain of clones is cut, and the frames around it are not affected.
    let sent = send(&mut switches, PORT, &[frame(1, 2, 0), frame(1, 1, 255), frame(1, 2, 0)]);
    assert_eq!(sent.len(), 2);
    let statistics = switches[1].statistics();
    assert_eq!(statistics.loops_cut, 1);
    assert!(statistics.cloned > u64::from(MAX_PASSES));
}

/// Multicast copies are in the queue when the first of them is cloned, so its clone must wait.
#[test]
fn clones_do_not_overtake_packets_in_the_queue() {
    let mut switches = both(1);
    let sent = send(&mut switches, PORT, &[frame(6, 1, 0)]);
    let turns: Vec<u8> = sent.iter().map(|(_, frame)| frame[5]).collect();
    assert_eq!(turns, [4, 5, 6], "the three copies pass egress first");
}

#[test]
fn executors_agree_on_random_frames() {
    for pipelines in [1, 2, 4] {
        let mut switches = both(pipelines);
        let mut random = Random::new(pipelines as u64);
        let mut sent = 0;
        for round in 0..2_000u64 {
            if round % 50 == 7 {
                let port = random.between(0, 15) as u16;
                for switch in &mut switches {
                    switch.modify_clone_session(2, session(&[(port, 1)], 0)).unwrap();
                }
            }
            let frames: Vec<Vec<u8>> = (0..random.between(1, 40))
                .map(|_| {
                    let session = SESSIONS[random.between(0, 7) as usize];
                    let op = random.between(0, 7) as u8;
                    let mut frame =
                        frame(op, session, random.between(0, 4).saturating_sub(1) as u8);
                    frame.truncate(random.between(8, 20) as usize);
                    frame
                })
                .collect();
            sent += send(&mut switches, PORT, &frames).len();
        }
        let statistics = switches[1].statistics();
        let common = [statistics.cloned, statistics.dropped_egress, statistics.recirculated];
        assert!(sent > 20_000 && common.iter().all(|count| *count > 1_000), "{statistics:?}");
        assert_same_registers(&mut switches, &["E.turns", "E.clones"]);
    }
}
