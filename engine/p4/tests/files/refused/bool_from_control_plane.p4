#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action a(bool on) { m.flag = on; }
    action direct(bool on) { m.flag = on; }
    table t { key = { h.b.x : exact; } actions = { a; } }
    apply { t.apply(); direct(true); }
}
#include "../pipeline.p4"
