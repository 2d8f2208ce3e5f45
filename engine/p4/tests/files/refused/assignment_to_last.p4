#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.st.next);
        h.st.last.x = 1;
        transition accept;
    }
}
#include "../pipeline.p4"
