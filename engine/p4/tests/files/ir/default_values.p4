#include "../types.p4"
struct pair_t { bit<8> a; bool b; byte_t c; tuple<bit<8>, bit<8>> d; }
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    pair_t p = { b = true, ... };
    pair_t q = { 5, ... };
    pair_t r = ...;
    apply {
        p = { 7, ... };
        q = ...;
        r = { c = { 1, 2 }, ... };
        h.b = r.c;
        m.m = p.a + q.d[1] + 0x1234[7:0];
    }
}
#include "../pipeline.p4"
