#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action a(in bit<8> n) { m.m = n; }
    table t { key = { h.b.x : exact; } actions = { a(h.b.x); } default_action = a(h.b.y); }
    table u { key = { h.b.x : exact; } actions = { a(h.b.x); } default_action = a(h.b.x); }
    apply { t.apply(); u.apply(); }
}
#include "../pipeline.p4"
