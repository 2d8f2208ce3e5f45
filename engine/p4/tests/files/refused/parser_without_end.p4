#include "../types.p4"
#define OWN_PARSER
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { transition a; }
    state a { transition b; }
    state b { transition a; }
}
#include "../pipeline.p4"
