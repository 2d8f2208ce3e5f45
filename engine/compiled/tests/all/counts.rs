//! What is counted for a frame: its additional passes, and with its copies the passes that
//! [`MAX_PASSES_PER_FRAME`] limits. No frame of a batch adds to the counts of a later one, on
//! neither executor.

use netkv_dataplane::{MAX_PASSES, MAX_PASSES_PER_FRAME, Switch};

use crate::both::{BOTH, send, switch_with};

const PORT: u16 = 4;

/// A packet goes back to ingress until `left` is 0; if `end` is 1, it is dropped instead, and if it
/// is 2, only the last one of seven copies goes back. Group 0 is a single port, and so is every
/// group in the first `single` passes.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t { bit<8> group; bit<8> single; bit<16> left; bit<8> end; bit<16> arrival; }
struct headers_t { q_t q; }
struct meta_t { }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.q); transition accept; }
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
        if (h.q.group == 0) {
            s.egress_spec = 4;
        } else if (h.q.single != 0) {
            h.q.single = h.q.single - 1;
            s.egress_spec = 4;
        } else {
            s.mcast_grp = (bit<16>)h.q.group;
        }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        if (h.q.end == 1) {
            mark_to_drop(s);
        } else if (h.q.left != 0 && (h.q.end == 0 || s.egress_rid == 6)) {
            h.q.left = h.q.left - 1;
            recirculate_preserving_field_list(0);
        }
    }
}
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// The groups, and how many copies they have. Compiled code leaves those of the last one to the
/// switch, which looks at the limit after each.
const TWO: u8 = 1;
const SEVEN: u8 = 2;
const MANY: u8 = 3;
const COPIES: [u16; 4] = [0, 2, 7, 40];

fn both() -> [Switch; 2] {
    BOTH.map(|kind| {
        let mut switch = switch_with(SOURCE, 1, kind);
        for group in [TWO, SEVEN, MANY] {
            let copies = 0..COPIES[usize::from(group)];
            let replicas = copies.map(|instance| (PORT, instance)).collect();
            switch.insert_multicast_group(group.into(), replicas).unwrap();
        }
        switch
    })
}

fn frame(group: u8, single: u8, left: u16, end: u8) -> Vec<u8> {
    let [high, low] = left.to_be_bytes();
    [[group, single, high, low, end].as_slice(), &[0; 8]].concat()
}

#[test]
fn a_frame_has_no_passes_of_the_one_before() {
    let mut switches = both();
    let sent = send(&mut switches, PORT, &[5, 3, 0, 2].map(|left| frame(0, 0, left, 0)));
    assert_eq!((sent.len(), switches[1].statistics().recirculated), (4, 10));
}

/// After a pass to a single port, a frame becomes two with each pass until the limit, which cuts as
/// many off with and without copies before it: copies that are sent, that are dropped, or that one
/// of seven follows in the next pass until its own limit.
#[test]
fn copies_of_a_frame_are_no_passes_of_the_next_one() {
    let cut = |frames: &[Vec<u8>]| {
        let mut switches = both();
        send(&mut switches, PORT, frames);
        switches[1].statistics().loops_cut
    };
    let doubled = frame(TWO, 1, u16::MAX, 0);
    let alone = cut(std::slice::from_ref(&doubled));
    assert!(alone > 0);
    let (sent, dropped) = (frame(SEVEN, 0, 0, 0), frame(SEVEN, 0, 0, 1));
    for (before, own) in [(sent, 0), (dropped, 0), (frame(SEVEN, 0, u16::MAX, 2), 1)] {
        assert_eq!(cut(&[before, doubled.clone()]), own + alone);
    }
}

#[test]
fn passes_of_earlier_frames_do_not_count_for_the_limit() {
    let mut switches = both();
    // Each of these passes is one through ingress and one through egress.
    let left = MAX_PASSES as u16 - 1;
    let frames = MAX_PASSES_PER_FRAME.div_ceil(2 * u32::from(left)) as usize;
    let mut batch = vec![frame(0, 0, left, 0); frames];
    batch.push(frame(MANY, 0, 0, 0));
    let sent = send(&mut switches, PORT, &batch);
    assert_eq!(sent.len(), frames + usize::from(COPIES[usize::from(MANY)]));
    assert_eq!(switches[1].statistics().loops_cut, 0);
}
