#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action_selector(HashAlgorithm.crc16, 16, 8) group;
    table t {
        key = { h.b.x : exact; h.b.y : selector; }
        actions = { NoAction; }
        implementation = group;
    }
    table u {
        key = { h.b.x : exact; m.m : selector; }
        actions = { NoAction; }
        implementation = group;
    }
    apply { t.apply(); u.apply(); }
}
#include "../pipeline.p4"
