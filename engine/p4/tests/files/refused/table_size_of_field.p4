#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    table t { key = { h.b.x : exact; } actions = { NoAction; } size = (bit<32>) h.b.y; }
    apply { t.apply(); }
}
#include "../pipeline.p4"
