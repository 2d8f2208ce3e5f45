#include "../types.p4"
#define OWN_INGRESS
control C() { apply { } }
C() c;
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { c.apply(); }
}
#include "../pipeline.p4"
