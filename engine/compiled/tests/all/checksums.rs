//! Checksums on both executors, over headers that may be missing, of odd and even lengths, and over
//! the payload. Compiled code adds the words of the received frame where it can.

use netkv_dataplane::Random;

use crate::both::{BOTH, send, switch_with};

/// Bits 0 to 3 of `kind` are the headers that a frame has, bit 4 whether it is recirculated once.
/// In ingress, bits 5 to 7 remove `odd`, change a field of `even`, and add `late`.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t { bit<8> kind; bit<8> bad; bit<16> sum; bit<16> plain; bit<32> where; }
header odd_t { bit<8> a; bit<16> b; }
header even_t { bit<32> a; bit<128> b; }
header nibbles_t { bit<4> a; bit<12> b; bit<8> c; }
struct headers_t { q_t q; odd_t odd; even_t even; nibbles_t nibbles; odd_t last; odd_t late; }
struct meta_t { }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.q); transition select(h.q.kind[0:0]) { 1: odd; default: no_odd; } }
    state odd { p.extract(h.odd); transition no_odd; }
    state no_odd { transition select(h.q.kind[1:1]) { 1: even; default: no_even; } }
    state even { p.extract(h.even); transition no_even; }
    state no_even { transition select(h.q.kind[2:2]) { 1: nibbles; default: no_nibbles; } }
    state nibbles { p.extract(h.nibbles); transition no_nibbles; }
    state no_nibbles { transition select(h.q.kind[3:3]) { 1: last; default: accept; } }
    state last { p.extract(h.last); transition accept; }
}
#define DATA h.q.kind, h.q.bad, 16w7, h.q.where, h.odd.a, h.odd.b, h.even.a, h.even.b, \\
             h.nibbles.a, h.nibbles.b, h.nibbles.c, h.last.a, h.last.b, h.late.a, h.late.b
control V(inout headers_t h, inout meta_t m) {
    apply {
        verify_checksum_with_payload(h.q.sum != 0, { DATA }, h.q.sum, HashAlgorithm.csum16);
        verify_checksum(h.q.plain != 0, { DATA }, h.q.plain, HashAlgorithm.csum16);
    }
}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        h.q.bad = (bit<8>)s.checksum_error;
        if (s.instance_type != 4) {
            if (h.q.kind[5:5] == 1) { h.odd.setInvalid(); h.q.kind[0:0] = 0; }
            if (h.q.kind[6:6] == 1) { h.even.b = h.even.b + 1; }
            if (h.q.kind[7:7] == 1) { h.late.setValid(); h.late.b = 0x1234; }
        }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        if (h.q.kind[4:4] == 1) {
            h.q.kind[4:4] = 0;
            recirculate_preserving_field_list(0);
        }
    }
}
control C(inout headers_t h, inout meta_t m) {
    apply {
        update_checksum_with_payload(h.q.sum != 0, { DATA }, h.q.sum, HashAlgorithm.csum16);
        update_checksum(true, { DATA }, h.q.plain, HashAlgorithm.csum16);
    }
}
control D(packet_out p, in headers_t h) {
    apply {
        p.emit(h.q); p.emit(h.odd); p.emit(h.even); p.emit(h.nibbles); p.emit(h.last);
        p.emit(h.late);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

/// The offset of the checksum with the payload.
const SUM: usize = 2;

fn random_frame(random: &mut Random, kind: u8) -> Vec<u8> {
    let length = 10 + 3 + 20 + 3 + 3 + random.between(0, 70);
    let mut frame: Vec<u8> = (0..length).map(|_| random.between(0, 255) as u8).collect();
    frame[0] = kind;
    if random.between(0, 3) == 0 {
        frame[SUM..SUM + 2].fill(0);
    }
    frame
}

/// The checksum of what leaves, computed byte by byte.
fn sum_of(frame: &[u8]) -> u16 {
    let mut data = vec![frame[0], frame[1], 0, 7];
    data.extend_from_slice(&frame[6..]);
    let words =
        data.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(*it.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[test]
fn every_combination_of_headers_has_the_right_checksum() {
    let mut switches = BOTH.map(|kind| switch_with(SOURCE, 1, kind));
    let mut random = Random::new(5);
    for kind in 0..=u8::MAX {
        let frames: Vec<_> = (0..20).map(|_| random_frame(&mut random, kind)).collect();
        let out = send(&mut switches, 1, &frames);
        assert_eq!(out.len(), frames.len());
        for (frame, (_, sent)) in frames.iter().zip(&out) {
            let sum = u16::from_be_bytes([sent[SUM], sent[SUM + 1]]);
            let expected = if frame[SUM..SUM + 2] == [0, 0] { 0 } else { sum_of(sent) };
            assert_eq!(sum, expected, "{frame:02x?}");
        }
    }
}

#[test]
fn what_is_computed_is_verified_and_a_flipped_bit_is_found() {
    let mut switches = BOTH.map(|kind| switch_with(SOURCE, 1, kind));
    let mut random = Random::new(6);
    for kind in 0..16 {
        let frame = random_frame(&mut random, kind);
        // `bad` is under the checksum, and set: what left for a right frame is right again.
        let mut right = frame;
        for _ in 0..3 {
            right = send(&mut switches, 1, &[right])[0].1.clone();
        }
        if right[SUM..SUM + 2] == [0, 0] {
            continue;
        }
        assert_eq!(right[1], 0, "kind {kind}");
        // Behind `kind`, which would mean other headers, and `bad`, which is set.
        for bit in 8 * 6..8 * right.len() {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 0x80 >> (bit % 8);
            assert_eq!(send(&mut switches, 1, &[wrong])[0].1[1], 1, "kind {kind}, bit {bit}");
        }
    }
}
