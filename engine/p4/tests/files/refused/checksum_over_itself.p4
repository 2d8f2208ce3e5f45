#include "../types.p4"
#define OWN_COMPUTE
control U(inout headers_t h, inout meta_t m) {
    apply { update_checksum(true, { h.b.x, h.b.y }, h.b.y, HashAlgorithm.csum16); }
}
#include "../pipeline.p4"
