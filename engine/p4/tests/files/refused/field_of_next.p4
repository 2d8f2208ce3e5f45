#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        m.m = h.st.next.x;
        m.flag = h.st.next.isValid();
        p.extract(h.st.next);
        transition accept;
    }
}
#include "../pipeline.p4"
