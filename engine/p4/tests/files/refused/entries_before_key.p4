#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action a() { }
    table t {
        actions = { a; }
        const entries = { 1: a(); }
        key = { h.b.x: exact; }
        default_action = a;
    }
    apply { t.apply(); }
}
#include "../pipeline.p4"
