#include "../types.p4"
bit<8> f(bit<8> a) { return a; }
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { m.m = f(m.m); h.b.x = f(5); }
}
#include "../pipeline.p4"
