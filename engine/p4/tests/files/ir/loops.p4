#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { for (bit<8> i = 0; i < h.b.x; i = i + 1) { if (i == 5) { break; } m.m = m.m + i; }
            for (bit<8> j in 1 .. 3) { if (j == 2) { continue; } m.m = m.m + j; } }
}
#include "../pipeline.p4"
