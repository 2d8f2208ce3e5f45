#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.b);
        assert(h.b.x > 0);
        transition accept;
    }
}
#include "../pipeline.p4"
