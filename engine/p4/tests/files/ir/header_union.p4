#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.b);
        transition select(h.b.x) { 1: one; default: two; }
    }
    state one { p.extract(h.u.one); transition accept; }
    state two { p.extract(h.u.two, 16); transition accept; }
}
#include "../pipeline.p4"
