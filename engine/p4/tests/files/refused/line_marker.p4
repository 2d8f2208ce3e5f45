#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
# 369 "original.p4"
    apply { h.b.z = 1; }
}
#include "../pipeline.p4"
