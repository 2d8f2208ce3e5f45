#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { h.b.x = h.b.x << m.wide; }
}
#include "../pipeline.p4"
