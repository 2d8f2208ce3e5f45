#include "../types.p4"
#define OWN_COMPUTE
control U(inout headers_t h, inout meta_t m) {
    apply { verify_checksum(true, { h.b.x }, m.wide, HashAlgorithm.csum16); }
}
#include "../pipeline.p4"
