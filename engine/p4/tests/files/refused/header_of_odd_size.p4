#include "../types.p4"
#define OWN_INGRESS
header odd_t { bit<3> f; }
struct more_t { odd_t o; }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    odd_t o;
    apply { o.setValid(); m.m = (bit<8>) o.f; }
}
#include "../pipeline.p4"
