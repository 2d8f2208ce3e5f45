#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        h.b.x = ((bit<8>) 1) + ...;
        h.st = ...;
    }
}
#include "../pipeline.p4"
