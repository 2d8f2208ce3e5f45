#include "../types.p4"
#define OWN_INGRESS
control C() {
    @name(".same") table t { actions = { NoAction; } default_action = NoAction; }
    apply { t.apply(); }
}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    C() one;
    C() two;
    apply { one.apply(); two.apply(); }
}
#include "../pipeline.p4"
