#include "../types.p4"
#define OWN_INGRESS
control K(in int n, inout bit<8> x) { apply { x = 1; } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    int variable = 5;
    K() k;
    apply { k.apply(1, m.m); m.m = (bit<8>) ((int) m.wide); }
}
#include "../pipeline.p4"
