#include "../types.p4"
#define OWN_COMPUTE
control U(inout headers_t h, inout meta_t m) {
    apply { if (h.b.x == 1) { h.b.y = 1; } }
}
#include "../pipeline.p4"
