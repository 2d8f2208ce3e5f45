//! Passes of a recirculated packet on both executors. Compiled code goes on with the fields of the
//! headers if the parser would extract them as they are, and with the bytes otherwise. Both
//! executors must give the same frames in the same order, the same numbers of passes, and the same
//! statistics.

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{CloneSession, MAX_PASSES, Random, Switch};

use crate::both::{BOTH, assert_same_registers, send, switch_with};

/// Where frames arrive.
const PORT: u16 = 4;

/// Each pass counts `left` down, and takes what it does from the low bits of `acts`, which move
/// down by four with each pass. `bad` counts the passes with a wrong checksum.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t {
    bit<8> kind; bit<8> left; bit<32> acts; bit<8> list; bit<8> bad; bit<16> sum;
    bit<16> arrival; bit<8> kept; bit<8> also; bit<8> from; bit<8> type; bit<8> length; bit<8> rid;
}
header extra_t { bit<24> data; }
struct headers_t { q_t q; extra_t extra; }
struct meta_t { @field_list(1, 2) bit<8> kept; @field_list(2) bit<8> also; bit<8> seen; }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.q);
        verify(h.q.kind != 9, error.ParserInvalidArgument);
        m.seen = h.q.kind;
        transition select(s.ingress_port, h.q.kind) {
            (510, _): accept; (_, 1): extra; (_, 2 &&& 2): peek; default: accept;
        }
    }
    state extra { p.extract(h.extra); transition accept; }
    state peek { m.seen = p.lookahead<bit<8>>(); transition accept; }
}
control V(inout headers_t h, inout meta_t m) {
    apply { verify_checksum(true, { h.q.kind, h.q.left, h.q.acts }, h.q.sum, HashAlgorithm.csum16); }
}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<16>>(1) arrivals;
    bit<16> arrival;
    apply {
        arrivals.read(arrival, 0);
        arrival = arrival + 1;
        arrivals.write(0, arrival);
        h.q.arrival = arrival;
        h.q.bad = h.q.bad + (bit<8>)s.checksum_error;
        h.q.kept = m.kept;
        h.q.also = m.also + m.seen;
        h.q.from = (bit<8>)s.ingress_port;
        h.q.length = (bit<8>)s.packet_length;
        h.q.type = (bit<8>)s.instance_type;
        m.kept = m.kept + 1;
        m.also = m.also + 2;
        if (h.extra.isValid()) { h.extra.data = h.extra.data + 1; }
        if (h.q.acts & 1 == 1) { s.mcast_grp = 1; } else { s.egress_spec = (bit<9>)h.q.left; }
        if (h.q.acts & 15 == 15) { mark_to_drop(s); }
        INGRESS
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    bit<8> act;
    apply {
        act = (bit<8>)h.q.acts & 15;
        h.q.rid = (bit<8>)s.egress_rid;
        if (h.q.left != 0 && (act & 1 == 0 || s.egress_rid == 1)) {
            h.q.left = h.q.left - 1;
            h.q.acts = h.q.acts >> 4;
            if (act == 10) { h.q.kind = 2; }
            if (act == 12) { h.q.kind = 9; }
            if (act == 14) { clone(CloneType.E2E, 1); mark_to_drop(s); }
            else if (h.q.list == 1) { recirculate_preserving_field_list(1); }
            else if (h.q.list == 2) { recirculate_preserving_field_list(2); }
            else { recirculate_preserving_field_list(0); }
        }
        EGRESS
    }
}
control C(inout headers_t h, inout meta_t m) { apply { COMPUTED } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); p.emit(h.extra); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// How the checksum that the next pass verifies is computed.
const COMPUTED: &str =
    "update_checksum(true, { h.q.kind, h.q.left, h.q.acts }, h.q.sum, HashAlgorithm.csum16);";

/// Bytes of header `q`.
const HEADER: usize = 18;

fn both(pipelines: usize, computed: &str, ingress: &str, egress: &str) -> [Switch; 2] {
    both_with(pipelines, computed, ingress, egress, &[])
}

/// Both switches, with parts of the source replaced.
fn both_with(
    pipelines: usize,
    computed: &str,
    ingress: &str,
    egress: &str,
    parts: &[(&str, &str)],
) -> [Switch; 2] {
    let mut source = SOURCE.to_owned();
    for (from, to) in parts {
        assert!(source.contains(from), "{from}");
        source = source.replacen(from, to, 1);
    }
    let source = source.replace("COMPUTED", computed);
    let source = source.replace("INGRESS", ingress).replace("EGRESS", egress);
    BOTH.map(|kind: ExecutorKind| {
        let mut switch = switch_with(&source, pipelines, kind);
        switch.insert_multicast_group(1, vec![(4, 0), (8, 1)]).unwrap();
        let session = CloneSession { replicas: vec![(8, 3)], ..CloneSession::default() };
        switch.insert_clone_session(1, session).unwrap();
        switch
    })
}

/// What each pass does, the first one first.
fn acts(of: &[u32]) -> u32 {
    of.iter().rev().fold(0, |all, act| all << 4 | act)
}

/// A frame with a right checksum, and so many bytes of payload.
fn frame(kind: u8, left: u8, acts: u32, list: u8, payload: usize) -> Vec<u8> {
    let mut frame = vec![kind, left];
    frame.extend(acts.to_be_bytes());
    let sum: u32 = frame.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame.extend([list, 0]);
    frame.extend(sum.to_be_bytes());
    frame.resize(HEADER, 0);
    if kind == 1 {
        frame.extend([1, 2, 3]);
    }
    frame.extend((0..payload).map(|byte| 0x80 | byte as u8));
    frame
}

/// Acts that keep the headers: nothing, copies.
const KEEP: [u32; 2] = [0, 1];
/// All acts: also truncation, other headers, another or a refused kind, a clone, a drop.
const ALL: [u32; 10] = [0, 1, 4, 6, 8, 10, 12, 14, 15, 3];

/// What egress may also do: shorten a frame, or change its headers.
const TRUNCATE: &str = "if (act == 4) { truncate(40); }";
const OTHER_HEADERS: &str = "if (act == 6) { h.extra.setInvalid(); h.q.kind = 0; }
    if (act == 8) { h.extra.setValid(); h.extra.data = 7; h.q.kind = 1; }";

#[test]
fn fields_are_those_that_the_bytes_would_have() {
    for egress in ["", TRUNCATE, OTHER_HEADERS] {
        for pipelines in [1, 2, 4] {
            let mut switches = both(pipelines, COMPUTED, "", egress);
            for first in ALL {
                for second in ALL {
                    let frames = KEEP.into_iter().flat_map(|third| {
                        let acts = acts(&[first, second, third, first]);
                        (0..15).map(move |at| {
                            let (kind, left) = (at % 3, at / 3);
                            frame(kind, left, acts, left % 4, 5 * usize::from(left))
                        })
                    });
                    send(&mut switches, PORT, &frames.collect::<Vec<_>>());
                }
            }
            assert_same_registers(&mut switches, &["I.arrivals"]);
            assert!(switches[1].statistics().recirculated > 1_000);
        }
    }
}

#[test]
fn many_passes_follow_each_other() {
    for acts in [[0; 8], [1; 8], [0, 1, 0, 0, 1, 1, 0, 1]] {
        let mut switches = both(1, COMPUTED, "", "");
        let frames = [7, 3, 8].map(|left| frame(1, left, self::acts(&acts), 2, 30));
        let sent = send(&mut switches, PORT, &frames);
        // One frame for each copy that did not go back.
        let copies = |left: usize| acts.iter().take(left).sum::<u32>() as usize;
        let last = |left: usize| 1 + usize::from(acts.get(left) == Some(&1));
        let expected: usize = [7, 3, 8].map(|left| copies(left) + last(left)).iter().sum();
        assert_eq!(sent.len(), expected);
        assert_eq!(switches[1].statistics().recirculated, 18);
    }
}

/// A pass before verifies no checksum that it has not computed over the same fields.
#[test]
fn a_wrong_checksum_is_found_in_each_pass() {
    let other_fields = COMPUTED.replace("h.q.kind, h.q.left", "h.q.left, h.q.kind");
    let unless = COMPUTED.replace("true", "h.q.list != 3");
    let overwritten = format!(
        "{COMPUTED} update_checksum(true, {{ h.q.arrival }}, h.q.left, HashAlgorithm.crc16);"
    )
    .replace("h.q.left, HashAlgorithm.crc16", "h.q.acts, HashAlgorithm.crc32");
    let bad = |computed: &str| {
        let mut switches = both(1, computed, "", "");
        let mut wrong = frame(0, 3, acts(&[0, 1, 0]), 3, 9);
        wrong[8] ^= 1;
        let frames = [frame(0, 3, acts(&[0, 1, 0]), 3, 9), wrong];
        let sent = send(&mut switches, PORT, &frames);
        sent.iter().map(|(_, frame)| frame[7]).max().unwrap()
    };
    assert_eq!(bad(COMPUTED), 1, "only that of the received frame is wrong");
    for computed in ["", &other_fields, &unless, &overwritten] {
        assert!(bad(computed) > 1, "{computed}");
    }
}

/// The part of egress that clones, without which the checksum of a pass that is replaced by that of
/// the next one need not be computed.
const WITHOUT_CLONES: (&str, &str) =
    ("if (act == 14) { clone(CloneType.E2E, 1); mark_to_drop(s); }\n            else if", "if");

/// Also if the parser of the next pass does not come to a header on which the checksum depends.
#[test]
fn a_packet_that_leaves_the_passes_with_its_bytes_has_the_checksum_of_its_last_pass() {
    let if_extra = COMPUTED.replace("true", "h.extra.isValid()");
    let if_seen = COMPUTED.replace("true", "m.seen == 1");
    for (computed, kinds) in [(COMPUTED, 2), (&if_extra, 1), (&if_seen, 1)] {
        for egress in ["", TRUNCATE, OTHER_HEADERS] {
            let mut switches = both_with(1, computed, "", egress, &[WITHOUT_CLONES]);
            for first in ALL {
                for second in ALL {
                    // Kind 2 leaves the passes, kind 9 ends the parser.
                    let frames = [10, 12, 0, 4].into_iter().flat_map(|third| {
                        let acts = acts(&[first, second, third, 1]);
                        (0..10).map(move |at| frame(1 - at % kinds, at / 2, acts, 2, 8))
                    });
                    let sent = send(&mut switches, PORT, &frames.collect::<Vec<_>>());
                    let wrong = sent.iter().filter(|(_, frame)| frame.len() > 7 && frame[7] != 0);
                    // Without a condition, all are right.
                    assert!(kinds == 1 || egress == OTHER_HEADERS || wrong.count() == 0);
                }
            }
            assert!(switches[1].statistics().recirculated > 1_000);
        }
    }
    let endless = "h.q.left = 5; h.q.acts = 0;";
    let mut switches = both_with(1, COMPUTED, endless, "", &[WITHOUT_CLONES]);
    send(&mut switches, PORT, &[frame(0, 5, 0, 0, 4), frame(1, 5, 0, 2, 4)]);
    assert_eq!(switches[1].statistics().loops_cut, 2);
}

/// Egress and ingress may need the checksum of the pass before.
#[test]
fn a_checksum_that_something_reads_is_computed_in_each_pass() {
    let counts = "if (h.q.left == 2 && h.q.sum > 0x8000) { h.q.bad = h.q.bad + 16; }";
    let uses = "h.q.list = h.q.list ^ (bit<8>) (h.q.sum >> 8 & 2);";
    for (ingress, egress) in [("", ""), (counts, ""), ("", uses)] {
        let mut switches = both_with(1, COMPUTED, ingress, egress, &[WITHOUT_CLONES]);
        for payload in 0..40 {
            let acts = acts(&[payload & 1, payload >> 1 & 1, payload >> 2 & 1]) ^ payload << 20;
            let frames = [0, 1].map(|kind| frame(kind, 3, acts, 2, payload as usize));
            send(&mut switches, PORT, &frames);
        }
    }
}

/// A checksum over the payload, in the field that says what the next pass keeps.
const OVER_PAYLOAD: &str = "update_checksum_with_payload(true, { h.q.kind, h.q.left }, h.q.list,
    HashAlgorithm.crc16);";

/// The payload is behind the headers also if a packet comes to the pass from other code.
#[test]
fn a_checksum_may_be_over_the_payload() {
    let computed = format!("{COMPUTED} {OVER_PAYLOAD}");
    let mut switches = both(1, &computed, "h.q.list = h.q.list & 3;", "");
    for payload in 0..40 {
        let frames = [0, 1].map(|kind| frame(kind, 4, acts(&[0, 1, 0, 0]), 2, payload));
        send(&mut switches, PORT, &frames);
    }
}

/// Metadata is lost between passes, so what was found of it does not hold any more.
#[test]
fn what_the_parser_has_found_of_metadata_is_found_again() {
    let copied = "verify(h.q.kind != 9, error.ParserInvalidArgument);
        m.seen = h.q.kind;";
    let first = "transition select(s.ingress_port) { 0: found; default: first; }
    }
    state first { m.seen = h.q.list; transition found; }
    state found {
        verify(CONDITION, error.ParserInvalidArgument);";
    for condition in ["m.seen == h.q.list", "h.q.list < m.seen + 1 || m.kept == 1"] {
        let found = first.replace("CONDITION", condition);
        let mut switches = both_with(1, COMPUTED, "", "", &[(copied, &found)]);
        let frames = [0, 1, 2].map(|list| frame(1, 4, acts(&[0, 1, 0, 1]), list, 9));
        send(&mut switches, PORT, &frames);
        assert!(switches[1].statistics().parser_errors > 0, "{condition}");
    }
}

/// Kind 2 is in the way of the parser that the passes before have taken.
#[test]
fn the_parser_decides_again_if_its_fields_change() {
    for egress in ["", "if (h.q.left == 2) { h.q.kind = 2; }", "h.q.kind = h.q.kind ^ 4;"] {
        let mut switches = both(1, COMPUTED, "", egress);
        let frames: Vec<Vec<u8>> = (0..8)
            .flat_map(|left| [0, 1, 4].map(|kind| frame(kind, left, 0x0101, 1, 12)))
            .collect();
        send(&mut switches, PORT, &frames);
    }
}

/// Ingress clones have the bytes of the packet in the pass that made them.
#[test]
fn ingress_finds_the_bytes_of_each_pass() {
    let clones = "if (h.q.left == 1) { clone(CloneType.I2E, 1); }";
    let mut switches = both(1, COMPUTED, clones, "");
    let frames = [2, 3].map(|left| frame(1, left, acts(&[0, 1, 1]), 1, 12));
    let sent = send(&mut switches, PORT, &frames);
    assert!(sent.iter().any(|(port, frame)| *port == 8 && frame[17] == 3));
}

#[test]
fn passes_have_the_limit_of_the_switch() {
    let endless = "h.q.left = 5; h.q.acts = 0;";
    for list in [0, 2] {
        let mut switches = both(1, COMPUTED, endless, "");
        send(&mut switches, PORT, &[frame(0, 5, 0, list, 4), frame(1, 5, 0, list, 4)]);
        // The one that is too many is counted as well.
        assert_eq!(switches[1].statistics().recirculated, 2 * u64::from(MAX_PASSES + 1));
        assert_eq!(switches[1].statistics().loops_cut, 2);
    }
}

/// Parts of the program that are replaced in random combinations: the condition and the fields of
/// its checksum, what ingress and egress do beside counting, and what the parser decides.
const CONDITIONS: [&str; 6] =
    ["true", "h.extra.isValid()", "m.seen == 1", "h.q.list != 3", "h.q.left != 1", "m.kept != 2"];
const FIELDS: [&str; 4] = [
    "h.q.kind, h.q.left, h.q.acts",
    "h.q.left, h.q.kind, h.q.acts",
    "h.q.kind, h.q.left, h.q.acts, h.extra.data",
    "h.q.kind, h.q.left, h.q.acts, m.seen",
];
const INGRESS: [&str; 5] = [
    "",
    "if (h.q.sum > 0x8000) { h.q.bad = h.q.bad + 16; }",
    "if (h.q.left == 1 && h.q.list == 2) { h.q.kind = 0; }",
    "if (h.extra.isValid() && h.q.left == 2) { h.extra.setInvalid(); h.q.kind = 0; }",
    "h.q.list = (bit<8>) (h.q.arrival & 3);",
];
const EGRESS: [&str; 6] = [
    "",
    TRUNCATE,
    OTHER_HEADERS,
    "h.q.kind = h.q.kind ^ 4;",
    "if (h.q.left == 2) { h.q.kind = 2; }",
    "h.q.sum = h.q.sum + 1;",
];
const VERIFIED: [&str; 5] = [
    "h.q.kind != 9",
    "h.q.kind != 9 && h.q.list < 3",
    "h.q.list + h.q.kind != 7",
    "m.kept != 3",
    "s.ingress_port != 0 || h.q.list != 1",
];
const SELECTED: [&str; 3] = [
    "select(s.ingress_port, h.q.kind) {
            (510, _): accept; (_, 1): extra; (_, 2 &&& 2): peek; default: accept;
        }",
    "select(s.ingress_port, h.q.kind, h.q.list) {
            (510, _, _): accept; (_, 1, 0 &&& 1): extra; (_, 1, _): extra; (_, 2 &&& 2, _): peek;
            default: accept;
        }",
    "select(h.q.list, m.seen) {
            (0 &&& 4, 1): extra; (_, 2 &&& 2): peek; (7, _): reject; default: accept;
        }",
];

#[test]
fn random_combinations_of_parts_give_the_same_frames() {
    let mut random = Random::new(4);
    let mut below = |limit: usize| random.between(0, limit as u64 - 1) as usize;
    for _ in 0..40 {
        // Half of the parts are the first ones, with which most passes begin with fields.
        let mut any = |count: usize| if below(2) == 0 { 0 } else { below(count) };
        let mut parts = vec![
            (VERIFIED[0], VERIFIED[any(VERIFIED.len())]),
            (SELECTED[0], SELECTED[any(SELECTED.len())]),
        ];
        parts.extend((any(2) == 0).then_some(WITHOUT_CLONES));
        let fields = FIELDS[any(FIELDS.len())];
        let (ingress, pipelines) = (INGRESS[any(INGRESS.len())], 1 + any(2));
        let egress = [(); 2].map(|()| EGRESS[any(EGRESS.len())]).join(" ");
        let condition = CONDITIONS[below(CONDITIONS.len())];
        let over_payload = [OVER_PAYLOAD, ""][below(2)];
        let computed = COMPUTED.replace("true", condition).replace(FIELDS[0], fields);
        let computed = computed + over_payload;
        let mut switches = both_with(pipelines, &computed, ingress, &egress, &parts);
        for _ in 0..6 {
            let frames = [(); 12].map(|()| {
                let acts = [(); 8].map(|()| ALL[if below(2) == 0 { below(2) } else { below(10) }]);
                let kind = [0, 1, 1, 1, 2, 3][below(6)];
                let (left, list) = (below(7) as u8, below(4) as u8);
                let mut frame = frame(kind, left, self::acts(&acts), list, below(20));
                if below(8) == 0 {
                    frame.truncate(below(frame.len()));
                }
                frame
            });
            send(&mut switches, PORT, &frames);
        }
        assert_same_registers(&mut switches, &["I.arrivals"]);
    }
}
