#include "../types.p4"
control K(bit<8> n, inout bit<8> x) { apply { x = n; } }
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    K() k;
    apply { k.apply(m.m, h.b.x); }
}
#include "../pipeline.p4"
