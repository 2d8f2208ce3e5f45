#include "../types.p4"
#define OWN_INGRESS
struct pair_t<T> { T a; T b; }
T larger<T>(in T a, in T b) { return a == b ? a : b; }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { pair_t<bit<8>> p = { h.b.x, h.b.y };
            m.m = larger(p.a, p.b);
            m.wide = larger(m.wide, 16w7); }
}
#include "../pipeline.p4"
