#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { m.wide = 16w1 << m.wide; }
}
#include "../pipeline.p4"
