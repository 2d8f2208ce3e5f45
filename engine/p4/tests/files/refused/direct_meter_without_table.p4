#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    direct_meter<bit<2>>(MeterType.bytes) dm;
    bit<2> colour;
    action a() { dm.read(colour); }
    table t { actions = { a; } default_action = a; }
    apply { t.apply(); }
}
#include "../pipeline.p4"
