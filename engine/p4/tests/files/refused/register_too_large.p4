#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<8>>(-1) r;
    apply { r.write(0, 1); }
}
#include "../pipeline.p4"
