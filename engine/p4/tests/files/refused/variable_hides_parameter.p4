#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    bit<8> s;
    action a(bit<8> n) { bit<8> m = n; s = m; }
    table t { key = { h.b.x : exact; } actions = { a; } }
    apply { t.apply(); bit<8> h = 1; m.m = h + s; }
}
#include "../pipeline.p4"
