/* One object of every kind that P4Runtime can touch, each with an effect that a packet shows. */
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header probe_t { bit<8> op; bit<32> ip; bit<16> port; bit<8> tag; bit<16> result; }

@controller_header("packet_in")
header packet_in_t { bit<9> ingress_port; bit<7> _pad; bit<16> reason; }
@controller_header("packet_out")
header packet_out_t { bit<9> egress_port; bit<7> _pad; }

struct headers_t { packet_in_t pin; packet_out_t pout; ethernet_t eth; probe_t probe; }
struct hot_t { bit<32> ip; bit<8> tag; }
struct meta_t { bit<2> colour; bit<1> special; hot_t hot; }

parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    value_set<bit<8>>(4) special_ops;
    state start { transition select(s.ingress_port) { 510: from_cpu; default: ethernet; } }
    state from_cpu { p.extract(h.pout); transition ethernet; }
    state ethernet { p.extract(h.eth); transition select(h.eth.type) { 0x88B5: probe; default: accept; } }
    state probe { p.extract(h.probe); transition select(h.probe.op) { special_ops: special; default: accept; } }
    state special { m.special = 1; transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }

control MyIngress(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    counter(8, CounterType.packets_and_bytes) arrivals;
    meter(8, MeterType.packets) rate;
    register<bit<16>>(16) results;
    direct_counter(CounterType.packets) exact_hits;
    action_selector(HashAlgorithm.crc16, 32, 16) balancer;

    action drop() { mark_to_drop(s); }
    action set_result(bit<16> result) { h.probe.result = result; }
    action forward(bit<9> port) { s.egress_spec = port; }
    action to_group(bit<16> group) { s.mcast_grp = group; }

    table exact_table {
        key = { h.probe.ip: exact; h.probe.tag: exact; }
        actions = { set_result; drop; NoAction; @defaultonly forward; }
        default_action = NoAction();
        counters = exact_hits;
        size = 20000;
    }
    table lpm_table {
        key = { h.probe.ip: lpm; }
        actions = { forward; to_group; drop; }
        default_action = drop();
        size = 64;
    }
    table ternary_table {
        key = { h.probe.ip: ternary; h.probe.port: range; h.probe.tag: optional; }
        actions = { set_result; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    table const_table {
        key = { h.probe.tag: exact; }
        actions = { set_result; NoAction; }
        const entries = { 0xC1: set_result(0xC001); }
        const default_action = NoAction();
    }
    table balanced_table {
        key = { h.probe.op: exact; h.probe.ip: selector; }
        actions = { forward; NoAction; }
        implementation = balancer;
        size = 16;
    }
    apply {
        if (h.pout.isValid()) {
            s.egress_spec = h.pout.egress_port;
            h.pout.setInvalid();
        } else if (h.probe.isValid()) {
            arrivals.count((bit<32>)s.ingress_port);
            rate.execute_meter((bit<32>)s.ingress_port, m.colour);
            results.read(h.probe.result, (bit<32>)h.probe.tag);
            lpm_table.apply();
            balanced_table.apply();
            exact_table.apply();
            ternary_table.apply();
            const_table.apply();
            if (m.special == 1) {
                h.probe.result = 0x5EC1;
            }
            if (h.probe.op == 2) {
                m.hot.ip = h.probe.ip;
                m.hot.tag = h.probe.tag;
                digest<hot_t>(1, m.hot);
            } else if (h.probe.op == 3) {
                clone(CloneType.I2E, 7);
            } else if (h.probe.op == 4) {
                s.egress_spec = 510;
            }
        }
    }
}
control MyEgress(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        if (s.egress_port == 510) {
            h.pin.setValid();
            h.pin.ingress_port = s.ingress_port;
            h.pin.reason = (bit<16>)h.probe.op;
        }
    }
}
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.pin); p.emit(h.eth); p.emit(h.probe); } }
V1Switch(P(), V(), MyIngress(), MyEgress(), C(), D()) main;
