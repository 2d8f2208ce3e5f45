#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<byte_t>(4) r;
    apply { r.write(0, h.b); }
}
#include "../pipeline.p4"
