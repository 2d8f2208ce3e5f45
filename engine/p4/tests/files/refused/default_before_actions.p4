#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action a() { }
    table t { default_action = a; actions = { a; } }
    apply { t.apply(); }
}
#include "../pipeline.p4"
