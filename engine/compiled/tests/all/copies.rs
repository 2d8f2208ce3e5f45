//! Copies of multicast groups and recirculated packets on both executors. Compiled code processes
//! many of them itself, and the switch the others. Both executors must give the same frames in the
//! same order, the same numbers of passes, and the same statistics.

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{CloneSession, MAX_PASSES, MAX_PASSES_PER_FRAME, Random, Replica, Switch};

use crate::both::{BOTH, assert_same_registers, send, switch_with};

/// Where frames arrive.
const PORT: u16 = 4;

/// A frame has four bits of `acts` for each instance of a copy: they are what egress does with it.
/// Every pass takes the next number of `turns`, so frames show the order of passes. `left` is the
/// number of passes back to ingress that follow, 255 for endless ones.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t {
    bit<8> op; bit<8> group; bit<8> session; bit<8> left; bit<32> acts; bit<8> list; bit<8> parts;
    bit<16> turn; bit<16> arrival; bit<8> kept; bit<8> also; bit<8> lost;
    bit<8> rid; bit<8> port; bit<8> type; bit<8> from; bit<8> length; bit<16> peeked; bit<16> sum;
}
header extra_t { bit<24> data; }
struct headers_t { q_t q; extra_t extra; }
struct meta_t {
    @field_list(1, 2) bit<8> kept; @field_list(2) bit<8> also; bit<8> lost; bit<16> peeked;
}
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.q);
        transition select(h.q.parts) { 0: accept; 1: extra; 2: peek; 3: refuse; default: accept; }
    }
    state extra { p.extract(h.extra); transition accept; }
    state peek { m.peeked = p.lookahead<bit<16>>(); transition accept; }
    state refuse { verify(s.instance_type != 4, error.ParserInvalidArgument); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<16>>(1) arrivals;
    bit<16> arrival;
    apply {
        arrivals.read(arrival, 0);
        arrival = arrival + 1;
        arrivals.write(0, arrival);
        h.q.arrival = arrival;
        h.q.kept = m.kept;
        h.q.also = m.also;
        h.q.lost = m.lost;
        h.q.from = (bit<8>)s.ingress_port;
        h.q.peeked = m.peeked;
        m.kept = m.kept + 1;
        m.also = m.also + 2;
        m.lost = m.lost + 3;
        if (h.extra.isValid()) { h.extra.data = h.extra.data + 1; }
        if (s.instance_type == 4) { h.q.port = (bit<8>)s.packet_length; }
        if (h.q.op & 32 == 32 && h.q.left == 200) {
            h.q.op = 1;
            h.q.left = 255;
        }
        if (h.q.op & 1 == 1) {
            s.mcast_grp = (bit<16>)h.q.group;
        } else if (h.q.op == 8) {
            mark_to_drop(s);
        } else {
            s.egress_spec = (bit<9>)h.q.group;
        }
        if (h.q.op & 2 == 2) { digest<bit<16>>(1, arrival); }
        if (h.q.op & 4 == 4) { truncate(40); }
        if (h.q.op & 16 == 16) { clone(CloneType.I2E, (bit<32>)h.q.session); }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<16>>(1) turns;
    bit<16> turn;
    bit<4> act;
    apply {
        turns.read(turn, 0);
        turn = turn + 1;
        turns.write(0, turn);
        h.q.turn = turn;
        h.q.rid = (bit<8>)s.egress_rid;
        h.q.port = h.q.port ^ (bit<8>)s.egress_port;
        h.q.type = (bit<8>)s.instance_type;
        h.q.length = (bit<8>)s.packet_length;
        act = (bit<4>)(h.q.acts >> ((bit<8>)s.egress_rid[2:0] << 2));
        if (act & 8 == 8) {
            if (h.extra.isValid()) {
                h.extra.setInvalid();
                h.q.parts = 2;
            } else {
                h.extra.setValid();
                h.extra.data = 0xabcdef;
                h.q.parts = h.q.parts ^ 1;
                truncate(41);
            }
        }
        if (h.q.left != 0 && (s.instance_type != 2 || h.q.op & 64 == 64)) {
            if (h.q.left != 255) { h.q.left = h.q.left - 1; }
            if (act & 1 == 1) {
                if (h.q.list == 1) {
                    recirculate_preserving_field_list(1);
                } else if (h.q.list == 2) {
                    recirculate_preserving_field_list(2);
                } else {
                    recirculate_preserving_field_list(0);
                }
            }
            if (act & 2 == 2) { clone(CloneType.E2E, (bit<32>)h.q.session); }
        }
        if (act & 4 == 4) { mark_to_drop(s); }
    }
}
control C(inout headers_t h, inout meta_t m) {
    apply {
        update_checksum(true, { h.q.op, h.q.group, h.q.turn, h.q.arrival }, h.q.sum,
                        HashAlgorithm.csum16);
    }
}
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); p.emit(h.extra); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// Bytes of header `q`.
const HEADER: usize = 28;

const RECIRCULATE: u32 = 1;
const CLONE: u32 = 2;
const DROP: u32 = 4;
const CHANGE: u32 = 8;

/// Groups with one, two, three and no copies, and with more than compiled code makes. There is no
/// group 9.
const GROUPS: [u8; 7] = [1, 2, 3, 4, 5, 6, 9];

fn replicas(group: u8) -> Vec<Replica> {
    match group {
        1 => vec![(4, 0)],
        2 => vec![(4, 0), (8, 1)],
        3 => vec![(4, 0), (8, 1), (12, 2)],
        4 => vec![],
        5 => (0..31).map(|i| (4 * i, i)).collect(),
        _ => vec![(5, 1), (6, 0)],
    }
}

fn with_groups(pipelines: usize, kind: ExecutorKind) -> Switch {
    let mut switch = switch_with(SOURCE, pipelines, kind);
    for group in (1..=6).rev() {
        switch.insert_multicast_group(group.into(), replicas(group)).unwrap();
    }
    for (id, replicas) in [(1, vec![(8, 3)]), (2, vec![(4, 1), (5, 2)]), (3, vec![])] {
        let session = CloneSession { replicas, ..CloneSession::default() };
        switch.insert_clone_session(id, session).unwrap();
    }
    switch
}

fn both(pipelines: usize) -> [Switch; 2] {
    BOTH.map(|kind| with_groups(pipelines, kind))
}

/// A request. `acts` are those of copies by their instance.
#[derive(Debug, Clone, Copy, Default)]
struct Request {
    op: u8,
    group: u8,
    session: u8,
    left: u8,
    acts: [u32; 8],
    list: u8,
    parts: u8,
}

impl Request {
    fn multicast(group: u8, acts: [u32; 3]) -> Self {
        let mut all = [0; 8];
        all[..3].copy_from_slice(&acts);
        Self { op: 1, group, session: 1, left: 1, acts: all, ..Self::default() }
    }

    /// To one port.
    fn unicast(acts: u32) -> Self {
        Self { op: 0, group: 4, acts: [acts; 8], ..Self::multicast(0, [0; 3]) }
    }

    /// With so many bytes of payload.
    fn frame(self, payload: usize) -> Vec<u8> {
        let Self { op, group, session, left, acts, list, parts } = self;
        let acts = acts.iter().enumerate().fold(0, |all, (at, act)| all | act << (4 * at));
        let mut frame = vec![op, group, session, left];
        frame.extend(u32::to_be_bytes(acts));
        frame.extend([list, parts]);
        frame.resize(HEADER, 0);
        frame.extend((0..payload).map(|byte| 0x80 | byte as u8));
        frame
    }
}

/// The ports and instances of sent frames, in order.
fn copies(sent: &[(u16, Vec<u8>)]) -> Vec<(u16, u8)> {
    sent.iter().map(|(port, frame)| (*port, frame[17])).collect()
}

#[test]
fn copies_leave_in_the_order_of_the_group() {
    let mut switches = both(1);
    let sent = send(&mut switches, PORT, &[Request::multicast(3, [0; 3]).frame(20)]);
    assert_eq!(copies(&sent), [(4, 0), (8, 1), (12, 2)]);
    let turns: Vec<u8> = sent.iter().map(|(_, frame)| frame[11]).collect();
    assert_eq!(turns, [1, 2, 3]);
    let many = send(&mut switches, PORT, &[Request::multicast(5, [0; 3]).frame(20)]);
    assert_eq!(many.len(), 31);
    assert_eq!(switches[1].statistics().replicated, 34);
}

#[test]
fn no_copy_has_what_egress_changed_in_another() {
    let mut switches = both(1);
    for acts in [[CHANGE, 0, 0], [0, CHANGE, 0], [CHANGE, DROP, CHANGE], [0, 0, CHANGE]] {
        let sent = send(&mut switches, PORT, &[Request::multicast(3, acts).frame(20)]);
        let is_changed: Vec<bool> = sent.iter().map(|(_, frame)| frame[9] == 1).collect();
        let kept = acts.iter().filter(|acts| **acts != DROP);
        assert_eq!(is_changed, kept.map(|acts| *acts == CHANGE).collect::<Vec<_>>());
        let length = |changed: &bool| if *changed { 41 } else { HEADER + 20 };
        assert!(sent.iter().zip(&is_changed).all(|((_, frame), c)| frame.len() == length(c)));
    }
}

/// A copy that egress sends back or clones waits for the copies after it.
#[test]
fn any_copy_may_be_recirculated_cloned_or_dropped() {
    let all = [0, RECIRCULATE, CLONE, DROP, DROP | CLONE, DROP | RECIRCULATE, RECIRCULATE | CLONE];
    for pipelines in [1, 2, 4] {
        let mut switches = both(pipelines);
        for first in all {
            for second in all {
                for third in all {
                    for change in [0, CHANGE] {
                        let acts = [first, second | change, third];
                        let request = Request::multicast(3, acts);
                        let [two, three] = [1, 2].map(|left| Request { left, ..request }.frame(20));
                        send(&mut switches, PORT, &[two, request.frame(0), three]);
                    }
                }
            }
        }
    }
}

#[test]
fn changed_groups_apply_to_the_next_frame() {
    let mut switches = both(1);
    let frame = [Request::multicast(2, [0; 3]).frame(4)];
    assert_eq!(copies(&send(&mut switches, PORT, &frame)), [(4, 0), (8, 1)]);
    for switch in &mut switches {
        switch.modify_multicast_group(2, vec![(3, 5), (2, 6), (1, 7)]).unwrap();
    }
    assert_eq!(copies(&send(&mut switches, PORT, &frame)), [(3, 5), (2, 6), (1, 7)]);
    for switch in &mut switches {
        switch.delete_multicast_group(2).unwrap();
    }
    assert!(send(&mut switches, PORT, &frame).is_empty());
    assert_eq!(switches[1].statistics().unknown_multicast_groups, 1);
    for switch in &mut switches {
        switch.insert_multicast_group(2, vec![(9, 0)]).unwrap();
    }
    assert_eq!(copies(&send(&mut switches, PORT, &frame)), [(9, 0)]);
}

#[test]
fn a_recirculated_packet_keeps_its_field_list_only() {
    let mut switches = both(1);
    for (list, kept) in [(0, [0, 0, 0]), (1, [2, 0, 0]), (2, [2, 4, 0])] {
        for request in [Request::unicast(RECIRCULATE), Request::multicast(2, [0, RECIRCULATE, 0])] {
            let request = Request { list, left: 2, ..request };
            let sent = send(&mut switches, PORT, &[request.frame(9)]);
            let (_, last) = sent.last().unwrap();
            assert_eq!(last[14..17], kept, "list {list}");
            assert_eq!(last[HEADER..], request.frame(9)[HEADER..]);
        }
    }
}

/// Headers that come and go move the payload. A parser that reads less than the deparser wrote, or
/// more, reads it.
#[test]
fn a_recirculated_frame_may_have_another_shape() {
    let mut switches = both(1);
    for payload in 0..24 {
        for parts in 0..4 {
            for left in 1..6 {
                for acts in [RECIRCULATE, RECIRCULATE | CHANGE] {
                    for op in [0, 4] {
                        let request = Request { op, parts, left, ..Request::unicast(acts) };
                        let copied = Request { op: op | 1, group: 2, ..request };
                        send(&mut switches, PORT, &[request.frame(payload), copied.frame(payload)]);
                    }
                }
            }
        }
    }
    let statistics = switches[1].statistics();
    assert!(statistics.parser_errors > 50 && statistics.recirculated > 1_000, "{statistics:?}");
}

#[test]
fn endless_recirculation_ends_at_the_limits() {
    let mut switches = both(1);
    let endless = Request { left: 255, ..Request::unicast(RECIRCULATE) };
    assert!(send(&mut switches, PORT, &[endless.frame(3)]).is_empty());
    assert_eq!(switches[1].statistics().loops_cut, 1);
    assert_eq!(switches[1].statistics().recirculated, u64::from(MAX_PASSES) + 1);
    // One copy leaves in each pass.
    let acts = [0, RECIRCULATE, 0];
    let each = Request { left: 255, ..Request::multicast(2, acts) };
    assert_eq!(send(&mut switches, PORT, &[each.frame(3)]).len(), MAX_PASSES as usize + 1);
    // The passes of the frame are limited, too, where each becomes two.
    let acts = [RECIRCULATE, RECIRCULATE, 0];
    let doubled = Request { left: 255, ..Request::multicast(2, acts) };
    // Here this begins after 54 passes.
    let later = Request { op: 32, left: 254, ..doubled };
    for request in [doubled, later] {
        let before = switches[1].statistics().replicated;
        let sent = send(&mut switches, PORT, &[request.frame(3), Request::unicast(0).frame(3)]);
        assert_eq!(sent.len(), 1);
        let copies = switches[1].statistics().replicated - before;
        assert!((u64::from(MAX_PASSES_PER_FRAME) / 2..).contains(&copies), "{copies}");
    }
}

/// The clone is one pass more, and each recirculation of it.
#[test]
fn a_recirculated_clone_counts_all_of_its_passes() {
    let mut switches = both(1);
    for left in 2..6 {
        let mut request = Request { op: 64, left, ..Request::unicast(DROP | CLONE) };
        request.acts[3] = RECIRCULATE; // the instance of the clone
        send(&mut switches, PORT, &[request.frame(3), request.frame(20)]);
    }
    let statistics = switches[1].statistics();
    assert!(statistics.recirculated > 5 && statistics.cloned > 5, "{statistics:?}");
}

#[test]
fn executors_agree_on_random_requests() {
    for pipelines in [1, 2, 4] {
        let mut switches = both(pipelines);
        let mut random = Random::new(pipelines as u64);
        let mut sent = 0;
        for round in 0..600u64 {
            if round % 50 == 7 {
                let replicas: Vec<Replica> = (0..random.between(0, 4))
                    .map(|i| (4 * random.between(0, 3) as u16, i as u16))
                    .collect();
                for switch in &mut switches {
                    switch.modify_multicast_group(3, replicas.clone()).unwrap();
                }
            }
            let frames: Vec<Vec<u8>> = (0..random.between(1, 30))
                .map(|_| {
                    let mut pick = |of: &[u8]| of[random.between(0, of.len() as u64 - 1) as usize];
                    let mut request = Request {
                        op: pick(&[0, 1, 1, 1, 1, 1, 3, 2, 5, 7, 8, 17, 64, 65]),
                        group: pick(&GROUPS),
                        session: pick(&[1, 1, 1, 2, 3, 4]),
                        left: pick(&[0, 1, 2, 3]),
                        list: pick(&[0, 1, 2]),
                        parts: pick(&[0, 0, 0, 1, 2, 3, 4]),
                        acts: [0; 8],
                    };
                    if request.group == 5 {
                        request.left = request.left.min(1);
                    }
                    for act in &mut request.acts {
                        *act = u32::from(pick(&[0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 8, 9, 10]));
                    }
                    let mut frame = request.frame(random.between(0, 30) as usize);
                    if random.between(0, 20) == 0 {
                        frame.truncate(random.between(0, 30) as usize);
                    }
                    frame
                })
                .collect();
            sent += send(&mut switches, PORT, &frames).len();
        }
        let statistics = switches[1].statistics();
        let common = [
            statistics.replicated,
            statistics.recirculated,
            statistics.cloned,
            statistics.dropped_egress,
            statistics.digests,
        ];
        assert!(sent > 10_000 && common.iter().all(|count| *count > 1_000), "{statistics:?}");
        assert_same_registers(&mut switches, &["E.turns", "I.arrivals"]);
    }
}
