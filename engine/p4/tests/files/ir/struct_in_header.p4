#include "../types.p4"
#define OWN_INGRESS
struct inner_t { bit<4> a; bit<4> b; }
header nested_t { inner_t i; bit<8> c; }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    nested_t n;
    apply { n.setValid(); n.i = { 1, 2 }; n.i.a = h.b.x[3:0]; m.m = (bit<8>) n.i.a; }
}
#include "../pipeline.p4"
