#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action a() { }
    action b(bit<8> v) { h.b.x = v; }
    table t { key = { h.b.x: exact; } actions = { a; b; } default_action = a; }
    apply { if (t.apply().hit) { m.m = 1; } }
}
#include "../pipeline.p4"
