#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    direct_meter<bit<2>>(MeterType.bytes) dm;
    action a() { }
    table t { actions = { a; } default_action = a; meters = dm; }
    apply { t.apply(); }
}
#include "../pipeline.p4"
