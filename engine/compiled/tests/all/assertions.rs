//! False assertions are counted at their places in the source, and end the switch if it stops at
//! assertions; the same on both executors.

use netkv_dataplane::{FailedAssertion, Switch};

use crate::both::{BOTH, send, switch_with};

/// The action is inlined twice. `assume` counts as `assert` does.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t { bit<8> first; bit<8> second; bit<8> way; }
struct headers_t { q_t q; }
struct meta_t { }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.q); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action check(bit<8> value) {
        assert(value < 100);
    }
    apply {
        s.egress_spec = 1;
        if (h.q.way != 0) { s.mcast_grp = (bit<16>)h.q.way; }
        check(h.q.first);
        check(h.q.second);
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { assume(h.q.second != 7); }
}
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";
const COPIES: u8 = 3;

fn both(pipelines: usize) -> [Switch; 2] {
    BOTH.map(|kind| {
        let mut switch = switch_with(SOURCE, pipelines, kind);
        let replicas = (0..u16::from(COPIES)).map(|instance| (1, instance)).collect();
        switch.insert_multicast_group(COPIES.into(), replicas).unwrap();
        switch
    })
}

fn failed(switch: &Switch) -> Vec<(String, u64)> {
    switch
        .failed_assertions()
        .into_iter()
        .map(|FailedAssertion { place, times }| (place, times))
        .collect()
}

fn frames(values: &[[u8; 3]]) -> Vec<Vec<u8>> {
    values.iter().map(|values| values.to_vec()).collect()
}

const IN_ACTION: &str = "both.p4:13:9";
const IN_EGRESS: &str = "both.p4:23:13";

#[test]
fn false_assertions_are_counted_at_their_places() {
    for pipelines in [1, 2] {
        let mut switches = both(pipelines);
        let values = [[100, 7, 0], [100, 200, 0], [1, 2, 0], [1, 7, COPIES]];
        assert_eq!(send(&mut switches, 1, &frames(&values)).len(), 3 + usize::from(COPIES));
        for switch in &switches {
            let expected = [(IN_ACTION.to_owned(), 3), (IN_EGRESS.to_owned(), 4)];
            assert_eq!(failed(switch), expected);
            assert_eq!(switch.statistics().failed_assertions, 7);
        }
    }
}

#[test]
fn a_switch_that_stops_at_assertions_sends_nothing_from_then_on() {
    let mut switches = both(1);
    switches.iter_mut().for_each(Switch::stop_at_assertions);
    let before = frames(&[[1, 2, 0], [1, 2, COPIES]]);
    let after = frames(&[[1, 7, COPIES], [1, 2, 0], [200, 200, 0]]);
    let sent = send(&mut switches, 1, &[before, after].concat());
    assert_eq!(sent.len(), 1 + usize::from(COPIES));
    for switch in &switches {
        assert_eq!(failed(switch), [(IN_EGRESS.to_owned(), u64::from(COPIES))]);
    }
    assert!(send(&mut switches, 1, &frames(&[[1, 2, 0]])).is_empty());
}
