#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { switch (h.b.x) { 1: { m.m = 1; } 1: { m.m = 2; } } }
}
#include "../pipeline.p4"
