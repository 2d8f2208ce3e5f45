#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    table t {
        key = { h.b.x : range; }
        actions = { NoAction; }
        const entries = { 7 .. 3 : NoAction(); }
    }
    apply { t.apply(); }
}
#include "../pipeline.p4"
