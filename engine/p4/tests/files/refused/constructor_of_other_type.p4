#include "../types.p4"
#define OWN_INGRESS
control Inner(inout bit<8> x);
control Other(inout bit<16> x) { apply { x = 1; } }
control Outer(inout bit<8> x)(Inner inner) { apply { inner.apply(x); } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    Outer(Other()) o;
    apply { o.apply(m.m); }
}
#include "../pipeline.p4"
