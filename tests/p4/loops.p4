// Loops over numbers, ranges, lists and stacks; break, continue, and a counter that wraps around.
#include <core.p4>
#include <v1model.p4>

header sel_t { bit<8> op; bit<8> n; }
header sum_t { bit<16> v; }
header item_t { bit<8> x; }
struct headers_t { sel_t sel; sum_t sum; item_t[3] items; }
struct metadata_t { }

parser P(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.sel);
        packet.extract(h.items.next);
        packet.extract(h.items.next);
        packet.extract(h.items.next);
        transition accept;
    }
}
control Check(inout headers_t h, inout metadata_t m) { apply { } }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h); } }

bit<16> square(in bit<8> n) {
    bit<16> sum = 0;
    for (bit<8> i = 0; i < n; i = i + 1) {
        for (bit<8> j = 0; j < n; j = j + 1) {
            sum = sum + 1;
        }
    }
    return sum;
}

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action count() {
        for (bit<8> i = 1, bit<16> step = 2; i <= h.sel.n; i = i + 1, step = step + 2) {
            if (i == 3) {
                continue;
            }
            if (i == 6) {
                break;
            }
            h.sum.v = h.sum.v + step;
        }
    }
    apply {
        s.egress_spec = 1;
        h.sum.setValid();
        if (h.sel.op == 0) {
            count();
        } else if (h.sel.op == 1) {
            h.sum.v = square(h.sel.n);
        } else if (h.sel.op == 2) {
            for (bit<8> i in 250 .. 255) {
                h.sum.v = h.sum.v + (bit<16>) i;
                i = 0;
            }
        } else if (h.sel.op == 3) {
            for (bit<8> i in h.sel.n .. 2) {
                h.sum.v = h.sum.v + 1;
            }
        } else if (h.sel.op == 4) {
            for (bit<16> i in { 16w100, 16w20, 16w3 }) {
                if (h.sel.n == 1 && i == 20) {
                    continue;
                }
                h.sum.v = h.sum.v + i;
            }
        } else if (h.sel.op == 5) {
            for (item_t item in h.items) {
                if (item.x == 0) {
                    break;
                }
                h.sum.v = h.sum.v + (bit<16>) item.x;
            }
        }
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }

V1Switch(P(), Check(), I(), E(), Check(), D()) main;
