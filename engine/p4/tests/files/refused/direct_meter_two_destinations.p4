#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    direct_meter<bit<8>>(MeterType.bytes) dm;
    action a() { dm.read(m.m); }
    action b() { dm.read(h.b.x); }
    table t { key = { h.b.x : exact; } actions = { a; b; } meters = dm; }
    apply { t.apply(); }
}
#include "../pipeline.p4"
