#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { m.m = m.flag ? 1 : 2; h.b.x = true ? 1 : 2; }
}
#include "../pipeline.p4"
