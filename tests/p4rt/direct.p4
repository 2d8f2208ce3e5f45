/* Tables with direct counters and meters, idle timeouts and const entries. A packet shows the colour
 * of the meter in its tag. */
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header probe_t { bit<8> op; bit<32> ip; bit<16> port; bit<8> tag; bit<16> result; }

struct headers_t { ethernet_t eth; probe_t probe; }
struct meta_t { bit<2> colour; }

parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.eth); transition select(h.eth.type) { 0x88B5: probe; default: accept; } }
    state probe { p.extract(h.probe); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }

control MyIngress(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) flow_hits;
    direct_counter(CounterType.packets) fixed_hits;
    direct_meter<bit<2>>(MeterType.packets) flow_limit;

    action mark(bit<16> result) { flow_limit.read(m.colour); h.probe.result = result; }
    action note(bit<16> result) { h.probe.result = result; }

    table flows {
        key = { h.probe.ip: exact; }
        actions = { mark; NoAction; }
        default_action = NoAction();
        counters = flow_hits;
        meters = flow_limit;
        support_timeout = true;
        size = 64;
    }
    table fixed {
        key = { h.probe.op: exact; }
        actions = { note; NoAction; }
        const entries = { 0xC1: note(0xC001); }
        default_action = NoAction();
        counters = fixed_hits;
    }
    apply {
        s.egress_spec = 1;
        if (h.probe.isValid()) {
            flows.apply();
            fixed.apply();
            h.probe.tag = (bit<8>)m.colour;
        }
    }
}
control MyEgress(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.eth); p.emit(h.probe); } }
V1Switch(P(), V(), MyIngress(), MyEgress(), C(), D()) main;
