#include "../types.p4"
bit<8> f(in bit<8> a) { return a; }
bit<8> f(in bit<16> b) { return b[7:0]; }
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { m.m = f(m.m); h.b.x = f(b = m.wide) + f(a = m.m); }
}
#include "../pipeline.p4"
