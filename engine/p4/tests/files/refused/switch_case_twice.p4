#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action a() { }
    action b(bit<8> v) { h.b.x = v; }
    table t { key = { h.b.x: exact; } actions = { a; b; } default_action = a; }
    apply { switch (t.apply().action_run) { a: { } a: { } } }
}
#include "../pipeline.p4"
