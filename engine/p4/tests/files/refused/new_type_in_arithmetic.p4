#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { new_t q = (new_t) h.b.x; q = q + q; }
}
#include "../pipeline.p4"
