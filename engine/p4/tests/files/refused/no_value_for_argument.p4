#include "../types.p4"
void f(in bit<8> a, out bit<8> b) { b = a; }
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { f(_, _); f(m.m, _); }
}
#include "../pipeline.p4"
