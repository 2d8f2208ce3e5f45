// Parameters of type int have no width; the code that uses them has the constants.
#include "../types.p4"
#define OWN_INGRESS
bit<8> shifted(int amount) { return 8w1 << amount; }
control K(int n, inout bit<8> x)(int size) {
    register<bit<8>>((bit<32>) size) r;
    apply {
        if (n > size) { x = x + (n - 1) / 2; }
        x = x & (bit<8>) n;
        r.write(0, x);
    }
}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    K(4) k;
    apply { k.apply(9, m.m); m.wide = m.wide + (int) 8w3; m.m = m.m | shifted(2); }
}
#include "../pipeline.p4"
