// Header unions and stacks of them: at most one header of a union is valid.
#include <core.p4>
#include <v1model.p4>

header sel_t { bit<8> op; bit<8> kind; }
header result_t { bit<8> v; }
header one_t { bit<8> x; }
header two_t { bit<16> y; }
header_union either_t { one_t one; two_t two; }
struct headers_t { sel_t sel; result_t res; either_t u; either_t[2] us; }
struct metadata_t { }

parser P(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.sel);
        transition select(h.sel.kind[0:0]) { 0: one; 1: two; }
    }
    state one { packet.extract(h.u.one); transition first; }
    state two { packet.extract(h.u.two); transition first; }
    state first { transition select(h.sel.kind[1:1]) { 0: first_one; 1: first_two; } }
    state first_one { packet.extract(h.us.next.one); transition second; }
    state first_two { packet.extract(h.us.next.two); transition second; }
    state second { transition select(h.sel.kind[2:2]) { 0: second_one; 1: second_two; } }
    state second_one { packet.extract(h.us.next.one); transition accept; }
    state second_two { packet.extract(h.us.next.two); transition accept; }
}
control Check(inout headers_t h, inout metadata_t m) { apply { } }
control D(packet_out packet, in headers_t h) { apply { packet.emit(h); } }

control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        h.res.setValid();
        if (h.sel.op == 1) {
            h.u.two.setValid();
            h.u.two.y = 0xBEEF;
        } else if (h.sel.op == 2) {
            h.u.one.setInvalid();
        } else if (h.sel.op == 3) {
            h.us[0] = h.u;
        } else if (h.sel.op == 4) {
            h.us[0] = h.us[1];
        } else if (h.sel.op == 5) {
            h.us.pop_front(1);
        } else if (h.sel.op == 6) {
            h.res.v[7:7] = h.u == h.us[0] ? 1w1 : 0;
        } else if (h.sel.op == 7) {
            h.us[h.sel.kind >> 7].two.setValid();
            h.us[h.sel.kind >> 7].two.y = 0x1234;
        } else if (h.sel.op == 8) {
            one_t other;
            other = { 0x77 };
            h.u.one = other;
            h.us[1].one = { 0x88 };
        }
        h.res.v[2:2] = h.u.isValid() ? 1w1 : 0;
        h.res.v[1:1] = h.u.one.isValid() ? 1w1 : 0;
        h.res.v[0:0] = h.u.two.isValid() ? 1w1 : 0;
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }

V1Switch(P(), Check(), I(), E(), Check(), D()) main;
