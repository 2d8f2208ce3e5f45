#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bool>(4) r;
    apply { r.write(0, m.flag); }
}
#include "../pipeline.p4"
