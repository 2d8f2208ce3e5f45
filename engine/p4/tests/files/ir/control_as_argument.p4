#include "../types.p4"
#define OWN_INGRESS
control Step(inout bit<8> x);
control Inner(inout bit<8> x) { apply { x = x + 1; } }
control Outer(inout bit<8> x)(Step step) { apply { x = x << 1; step.apply(x); } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    Outer(Inner()) o;
    apply { o.apply(m.m); }
}
#include "../pipeline.p4"
