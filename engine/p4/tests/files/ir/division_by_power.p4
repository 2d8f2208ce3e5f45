#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        h.b.x = h.b.x / 8;
        h.b.y = h.b.y % 4;
        m.wide /= 1;
        m.m = 0 / h.b.y;
    }
}
#include "../pipeline.p4"
