#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { hash(m.wide, HashAlgorithm.crc16, 16w0, { h.b.x, 5 }, 16w100); }
}
#include "../pipeline.p4"
