#include "../types.p4"
#define OWN_INGRESS
control K(inout bit<8> x)(bit<8> n) { apply { x = 8w5 / n; } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    K(8w0) k;
    apply { k.apply(m.m); }
}
#include "../pipeline.p4"
