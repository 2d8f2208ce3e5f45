#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { for (bit<8> i in h.b.x) { m.m = m.m + i; } }
}
#include "../pipeline.p4"
