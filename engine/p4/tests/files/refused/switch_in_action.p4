#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action a() { switch (h.b.x) { 1: { m.m = 1; } } }
    apply { a(); }
}
#include "../pipeline.p4"
