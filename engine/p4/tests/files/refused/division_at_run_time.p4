#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        h.b.x = h.b.x / h.b.y;
        h.b.x = h.b.x % 3;
        h.b.y /= 10;
    }
}
#include "../pipeline.p4"
