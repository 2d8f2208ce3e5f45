#include "../types.p4"
struct wide_t { bit<2049> a; bit<2048> b; }
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    wide_t w;
    apply { m.m = (w.b ++ h.b.x)[7:0]; }
}
#include "../pipeline.p4"
