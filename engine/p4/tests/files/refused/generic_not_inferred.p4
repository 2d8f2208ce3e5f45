#include "../types.p4"
#define OWN_INGRESS
T first<T>(in T a) { return a; }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { m.m = first(1); }
}
#include "../pipeline.p4"
