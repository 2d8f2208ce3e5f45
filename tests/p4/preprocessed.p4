// Lines joined inside tokens, variadic macros, pragmas, sizes of types, comparisons of enums with
// different names, and shifts by constants of signed types.
#include <core.p4>
#include <v1model.p4>

#define LONG_NAME_OF_A_CON\
STANT 7
#define CALL(f, ...) f(__VA_ARGS__)
#define SUM(a, ...) (a __VA_OPT__(+ __VA_ARGS__))
#define WIDE(value) 16w ## value
#define FIELDS(...) header h_t { __VA_ARGS__ }

enum bit<8> K { A = 1, B = 2 }
enum bit<8> L { C = 2, D = 1 }
const int<6> N = 3;

@pragma pa_no_init
FIELDS(bit<8> op; bit<8> a; bit<16> b;)
struct headers_t { h_t h; }
struct meta_t { }

parser P(packet_in pk, out headers_t hdr, inout meta_t m, inout standard_metadata_t std) {
    state start {
        pk.extract(hdr.h);
        transition accept;
    }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t m) { apply { } }
control D(packet_out pk, in headers_t hdr) { apply { pk.emit(hdr.h); } }

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t std) {
    action set(bit<16> value) { hdr.h.b = value; }
    @pragma stage 3
    table joined {
        key = { hdr.h.a: exact; }
        actions = { set; }
        default_action = CALL(set, LONG_NAME_\
OF_A_CONSTANT);
    }
    apply {
        std.egress_spec = 1;
        switch (hdr.h.op) {
            0: { joined.apply(); }
            1: {
                hdr.h.b = 0;
                if ((K)hdr.h.a == L.D) { hdr.h.b = hdr.h.b | 1; }
                if ((K)hdr.h.a != L.D) { hdr.h.b = hdr.h.b | 2; }
                if (L.C == K.B) { hdr.h.b = hdr.h.b | 4; }
                if (K.A != (L)hdr.h.a) { hdr.h.b = hdr.h.b | 8; }
            }
            2: { hdr.h.b = (16w1 <\
< N) + (bit<16>)(hdr.h.a >> 6s2); }
            3: {
                hdr.h.b = (bit<16>)(h_t.minSizeInBits() + h_t.maxSizeInBytes())
                    + (bit<16>)hdr.h.minSizeInBytes();
            }
            4: { hdr.h.b = SUM(WIDE(1), WIDE(2)) + SUM(WIDE(0x10)); }
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
