// Structs in headers, comparison and copies of varbits, stacks with varbits, signed indices, generics.
#include <core.p4>
#include <v1model.p4>

struct pair_t<T> { T a; T b; }
struct nibbles_t { bit<4> high; bit<4> low; }
header sel_t { bit<8> op; int<8> at; }
header mixed_t { nibbles_t n; bit<8> c; pair_t<bit<16>> p; }
header text_t { bit<8> length; varbit<32> text; }
header result_t { bit<8> v; }
struct headers_t { sel_t sel; result_t res; mixed_t[2] mixed; text_t first; text_t[2] more; }
struct metadata_t { nibbles_t kept; }

parser P(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    bit<8> length;
    state start {
        packet.extract(h.sel);
        packet.extract(h.mixed.next);
        packet.extract(h.mixed.next);
        length = packet.lookahead<bit<8>>();
        packet.extract(h.first, (bit<32>) length * 8);
        length = packet.lookahead<bit<8>>();
        packet.extract(h.more.next, (bit<32>) length * 8);
        length = packet.lookahead<bit<8>>();
        packet.extract(h.more.next, (bit<32>) length * 8);
        transition accept;
    }
}
control Check(inout headers_t h, inout metadata_t m) { apply { } }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h); } }

T larger<T>(in T x, in T y) { if (x > y) { return x; } return y; }

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        h.res.setValid();
        if (h.sel.op == 0) {
            m.kept = h.mixed[0].n;
            h.mixed[0].n = { m.kept.low, m.kept.high };
            h.mixed[0].p.a = larger(h.mixed[0].p.a, h.mixed[0].p.b);
            h.mixed[0].c = larger<bit<8>>(h.mixed[0].c, 0x10);
        } else if (h.sel.op == 1) {
            h.mixed[h.sel.at].n.low = 0xF;
            h.mixed[h.sel.at].p = { 1, 2 };
            h.res.v = h.mixed[h.sel.at].c;
        } else if (h.sel.op == 2) {
            h.res.v[0:0] = h.first.text == h.more[0].text ? 1w1 : 0;
            h.res.v[1:1] = h.first == h.more[1] ? 1w1 : 0;
        } else if (h.sel.op == 3) {
            h.first = h.more[h.sel.at];
        } else if (h.sel.op == 4) {
            h.more[h.sel.at] = h.first;
        }
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }

V1Switch(P(), Check(), I(), E(), Check(), D()) main;
