#include "../types.p4"
#define OWN_INGRESS
control K(int n, inout bit<8> x) { apply { x = x + n; } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    K() k;
    K() other;
    apply { k.apply(1, m.m); other.apply(2, m.m); k.apply(1, m.m); k.apply(2, m.m); }
}
#include "../pipeline.p4"
