#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { digest(1, h.b); digest(1, { h.b.x }); }
}
#include "../pipeline.p4"
