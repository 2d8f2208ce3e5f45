#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    @name(".same") action a() { m.m = 1; }
    @name(".same") action b() { m.m = 2; }
    table t { actions = { a; b; } default_action = a; }
    apply { t.apply(); }
}
#include "../pipeline.p4"
