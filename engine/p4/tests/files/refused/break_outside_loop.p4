#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { if (h.b.x == 1) { break; } }
}
#include "../pipeline.p4"
